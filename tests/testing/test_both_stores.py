"""A harness over the local store does what one over moto does: the same calls in the same order, and the same ends."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Literal

import pytest

from durable import (
    Break,
    ConfigurationError,
    Context,
    Continue,
    QueueTimeout,
    Retry,
    Step,
    StoreError,
    TerminalError,
    Undo,
    workflow,
)
from durable.testing import Harness
from tests.scenarios.outside import incompressible

STORES: tuple[Literal["local", "moto"], ...] = ("local", "moto")


def undo(undo: Undo) -> None:
    undo.db.put("undone", undo.name)


def flaky(step: Step) -> str:
    if step.attempt < 3:
        raise ConnectionError("try again")
    return step.name


def refuse(step: Step) -> None:
    raise TerminalError("no")


def pay(step: Step) -> None:
    step.db.put("paid", step.attempt)
    step.transact(
        {
            "Update": {
                "TableName": "accounts",
                "Key": {"id": {"S": "a"}},
                "UpdateExpression": "ADD amount :one",
                "ExpressionAttributeValues": {":one": {"N": "1"}},
            }
        }
    )


@workflow(state=dict)
def order(ctx: Context, fails: bool) -> str:
    """Retries, values of every size, own writes, a long sleep, messages, a loop that forgets, and perhaps a rollback."""
    ctx.step("reserve", flaky, rollback=undo, retry=Retry(3, backoff_base=30, jitter=False))
    ctx.step("pay", pay, rollback=undo)
    large = ctx.step("large", lambda step: incompressible(100_000))
    huge = ctx.step("huge", lambda step: incompressible(900_000))
    ctx.sleep("nap", timedelta(days=40))
    message = ctx.queue.next("answer", "answers", completable=True)
    message.complete("thanks")
    try:
        ctx.queue.next("never", "others", timeout=60)
    except QueueTimeout:
        ctx.step("told", lambda step: step.state.update(told=True))
    ctx.loop("turns", turn, state=0, prune_every=2)
    if fails:
        ctx.step("ship", refuse, rollback=undo)
    return f"{len(large)} {len(huge)} {message.body}"


def turn(ctx: Context, number: int) -> Continue[int] | Break[None]:
    ctx.rollback_checkpoint("settled")
    ctx.step("turn", lambda step: incompressible(400))
    return Break(None) if number == 6 else Continue(number + 1)


def nothing(durable: Harness) -> None:
    """Nothing goes wrong."""


def deaths(durable: Harness) -> None:
    for nth in (4, 9, 15):
        durable.faults.before(nth, durable.faults.die, by="Worker")
        durable.faults.after(nth + 20, durable.faults.die, by="Worker")


def lost_answers(durable: Harness) -> None:
    for nth in range(1, 60, 5):
        durable.faults.after(nth, durable.faults.lose_answer, by="Worker")


def throttled(durable: Harness) -> None:
    for nth in range(2, 60, 7):
        durable.faults.before(nth, durable.faults.refuse("ThrottlingException"), by="Worker", times=2)


def refused(durable: Harness) -> None:
    for nth in range(3, 60, 11):
        durable.faults.before(nth, durable.faults.refuse("AccessDeniedException"), by="Worker")


def conflicts(durable: Harness) -> None:
    for nth in range(2, 40, 9):
        durable.faults.before(
            nth, durable.faults.refuse("TransactionConflictException"), by="Worker", operation="UpdateItem"
        )


def duplicates(durable: Harness) -> None:
    durable.duplicate_all()


def swallowed(durable: Harness) -> None:
    durable.faults.before(2, durable.faults.swallow, operation=durable.sending, by="Worker")


WAYS: list[Callable[[Harness], None]] = [
    nothing,
    deaths,
    lost_answers,
    throttled,
    refused,
    conflicts,
    duplicates,
    swallowed,
]


def went(store: Literal["local", "moto"], way: Callable[[Harness], None], settings: dict[str, Any]) -> dict[str, Any]:
    """What a run shows."""
    fails = settings.pop("fails")
    with Harness(workflows=[order], store=store, **settings) as durable:
        durable.tables.create("accounts", "id")
        way(durable)
        execution = durable.start(order, fails, execution_id="order-1")
        for number in (1, 2):
            execution.send("answers", f"answer {number}", message_id=f"m-{number}")
        durable.run()
        objects = durable.stored.objects("order-1")
        calls = [(each.by, each.service, each.operation, each.item, each.error) for each in durable.calls]
        return {
            "calls": calls,
            "status": (execution.status, execution.rollback),
            "history": [(entry.path, entry.kind, entry.status, entry.attempts) for entry in execution.history],
            "state": execution.state,
            "bodies": durable.faults.bodies,
            "invocations": [(each.function, each.died, each.error is not None) for each in durable.invocations],
            "sent": [(message.queue, message.body) for message in durable.sent],
            "account": durable.tables.get("accounts", {"id": {"S": "a"}}),
            "left": ([key for key in sorted(durable.stored.items("order-1")) if not may_expire(key)], len(objects)),
            "moment": durable.clock.moment.replace(second=0, microsecond=0),  # pauses after conflicts are random
        }


def may_expire(key: str) -> bool:
    """A table deletes by itself what says so, some time later: the local store at once, moto never."""
    return key.startswith(("sent#", "reply#"))


@pytest.mark.parametrize(
    "settings",
    [
        {"fails": False},
        {"fails": True},
        {"fails": True, "steps_per_invocation": 5},
        {"fails": False, "transport": "eventbridge"},
    ],
    ids=["completes", "fails", "in few invocations", "over a bus"],
)
@pytest.mark.parametrize("way", WAYS)
def test_the_calls_and_the_end_of_an_execution_are_the_same(
    way: Callable[[Harness], None], settings: dict[str, Any]
) -> None:
    local, moto = (went(store, way, dict(settings)) for store in STORES)
    for name, shown in moto.items():
        assert local[name] == shown, name


def test_the_environment_chooses_for_a_harness_that_does_not_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DURABLE_TEST_STORE")
    assert Harness(workflows=[order]).store == "moto"
    monkeypatch.setenv("DURABLE_TEST_STORE", "local")
    assert (Harness(workflows=[order]).store, Harness(workflows=[order], store="moto").store) == ("local", "moto")
    monkeypatch.setenv("DURABLE_TEST_STORE", "redis")
    with pytest.raises(ConfigurationError, match="the store of a harness is moto or local, not 'redis'"):
        Harness(workflows=[order])


def test_the_local_store_checks_no_roles_and_says_so() -> None:
    with (
        Harness(workflows=[order], store="local") as durable,
        pytest.raises(ConfigurationError, match=r"the local store checks no permissions: use Harness\(store='moto'\)"),
    ):
        _ = durable.permissions


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize(
    ("fault", "attempts", "message"),
    [
        (
            "refuse AccessDeniedException",
            1,
            "could not read execution 'order-1': AccessDeniedException: by a planned fault",
        ),
        (
            "refuse ThrottlingException",
            4,
            "could not read execution 'order-1': ThrottlingException: by a planned fault",
        ),
        (
            "lose_answer",
            4,
            "could not read execution 'order-1': Connection was closed before we received a valid response",
        ),
        (
            "refuse TransactionConflictException",
            6,
            "could not read execution 'order-1': TransactionConflictException: by",
        ),
    ],
)
def test_a_fault_without_end_is_met_as_often_and_ends_as_the_same_error(
    store: Literal["local", "moto"], fault: str, attempts: int, message: str
) -> None:
    name, _, code = fault.partition(" ")
    with Harness(workflows=[order], store=store) as durable:
        execution = durable.start(order, False, execution_id="order-1")
        before = len(durable.calls)
        action = durable.faults.refuse(code) if code else getattr(durable.faults, name)
        plan = durable.faults.before if code else durable.faults.after
        plan(1, action, by="client", times=1_000)
        with pytest.raises(StoreError, match=message):
            _ = execution.status
        assert [call.operation for call in durable.calls[before:]] == ["GetItem"] * attempts


@pytest.mark.parametrize("store", STORES)
def test_what_is_called_unrecorded_has_no_number_and_meets_no_fault(store: Literal["local", "moto"]) -> None:
    with Harness(workflows=[order], store=store) as durable:
        execution = durable.start(order, False)
        before = len(durable.calls)
        durable.faults.before(1, durable.faults.die, by="client", times=1_000)
        with durable.unrecorded():
            assert execution.status == "pending"
        assert len(durable.calls) == before

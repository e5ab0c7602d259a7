"""`step.db` and `step.transact`: what a body writes is committed with its record, exactly once, whatever crashes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from durable import Context, Retry, Step, TerminalError, Undo, workflow
from durable.runtime.client.history_view import RollbackOutcome
from durable.testing import Harness
from tests.scenarios.misfortune import TOGETHER, Strike, Trial, planned
from tests.scenarios.outside import Outside
from tests.scenarios.sagas import Saga
from tests.stores import sampled

pytestmark = pytest.mark.rule("S10")


@dataclass(frozen=True)
class Cart:
    items: list[str]


# --- the database ----------------------------------------------------------------------------------------------------


def test_a_key_is_set_read_and_deleted_and_a_body_sees_its_own_writes() -> None:
    def write(step: Step) -> list[Any]:
        before = step.db.get("cart")
        step.db.put("cart", Cart(["book"]))
        seen = step.db.get("cart", Cart)
        step.db.delete("cart")
        gone = step.db.get("cart")
        step.db.put("cart", Cart(["book", "pen"]))
        step.db.put("count é", 2)
        step.db.delete("never there")
        return [before, seen, gone]

    @workflow
    def order(ctx: Context) -> list[Any]:
        first = ctx.step("write", write)
        second = ctx.step("read", lambda step: [step.db.get("cart", Cart), step.db.get("count é", int)])
        ctx.step("delete", lambda step: step.db.delete("cart"))
        return [first, second, ctx.step("look", lambda step: step.db.get("cart"))]

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.output == [[None, Cart(["book"]), None], [Cart(["book", "pen"]), 2], None]


def test_each_execution_has_its_own() -> None:
    @workflow
    def order(ctx: Context, item: str) -> str | None:
        ctx.step("write", lambda step: step.db.put(item, item))
        return ctx.step("read", lambda step: step.db.get("book", str))

    with Harness(workflows=[order]) as durable:
        executions = [durable.start(order, item) for item in ("book", "pen")]
        durable.run()

        assert [execution.output for execution in executions] == ["book", None]


@pytest.mark.parametrize("how", ["raises", "can't be stored"])
def test_what_a_failed_attempt_wrote_is_not_there(how: str) -> None:
    def write(step: Step) -> object:
        seen = step.db.get("count", int)
        step.db.put("count", 99)
        if how == "can't be stored":
            return object()
        raise TerminalError(f"saw {seen}")

    @workflow
    def order(ctx: Context) -> int | None:
        ctx.step("first", lambda step: step.db.put("count", 1))
        ctx.try_step("write", write)
        return ctx.step("read", lambda step: step.db.get("count", int))

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.output) == ("completed", 1)


def test_a_rollback_reads_and_writes_it_too() -> None:
    seen: list[int | None] = []

    def undo(undo: Undo) -> None:
        seen.append(undo.db.get("count", int))
        undo.db.put("count", (undo.db.get("count", int) or 0) - 1)

    def count(step: Step) -> None:
        step.db.put("count", (step.db.get("count", int) or 0) + 1)

    @workflow
    def order(ctx: Context) -> None:
        for name in "abc":
            ctx.step(name, count, rollback=undo)
        raise ValueError("sold out")

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.faults.in_body(5, durable.faults.die)
        durable.run()

        assert (execution.rollback.outcome, seen) == ("completed", [3, 2, 1])


# --- the user's own tables -------------------------------------------------------------------------------------------


def add_one(execution_id: str, condition: str | None = None) -> Mapping[str, Any]:
    """A write that is not idempotent."""
    update: dict[str, Any] = {
        "TableName": "accounts",
        "Key": {"id": {"S": execution_id}},
        "UpdateExpression": "ADD amount :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    }
    if condition is not None:
        update["ConditionExpression"] = condition
    return {"Update": update}


def accounts(durable: Harness) -> None:
    """A table of the user's own."""
    durable.tables.create("accounts", "id")


def amount(durable: Harness, account: str) -> int:
    item = durable.tables.get("accounts", {"id": {"S": account}})
    return 0 if item is None else int(item["amount"]["N"])


def deposits(outside: Outside) -> Saga:
    """Writes that would show every repetition: in the database, in another table, and forward and back."""

    def add(step: Step | Undo) -> None:
        step.db.put("count", (step.db.get("count", int) or 0) + 1)
        step.transact(add_one(step.execution_id))

    def deposit(step: Step[dict[str, int]]) -> str:
        outside.do(step)
        add(step)
        step.state["deposits"] = step.state.get("deposits", 0) + 1
        return step.path

    def undo(undo: Undo[str, dict[str, int]]) -> None:
        outside.undo(undo)
        add(undo)
        undo.state["counted"] = undo.db.get("count", int) or 0

    def refuse(step: Step) -> None:
        raise TerminalError("no")

    @workflow(state=dict[str, int])
    def books(ctx: Context[dict[str, int]]) -> None:
        ctx.step("first", deposit, rollback=undo)
        ctx.step("second", deposit)
        ctx.step("third", refuse)

    effects = ["first", "second", "undo first"]
    state = {"deposits": 2, "counted": 3}
    return Saga(books, "failed", None, "TerminalError: no", RollbackOutcome("completed"), effects, state)


def struck(strikes: list[Strike]) -> list[str]:
    found: list[str] = []
    outside = Outside()
    saga = deposits(outside)
    with Harness(workflows=[saga.workflow], steps_per_invocation=2) as durable:
        accounts(durable)
        trial = Trial(durable, outside, saga)
        for strike in strikes:
            found += trial.run([strike])
            item = durable.calls[-1].item  # the trial looked at the execution last
            assert item is not None
            if amount(durable, item["pk"]) != 3:
                found.append(f"{strike}: {amount(durable, item['pk'])} deposits")
    return found


@pytest.mark.rule("E3", "E4")
@pytest.mark.parametrize("chunk", range(2))
def test_it_is_written_exactly_once_wherever_the_process_dies(chunk: int) -> None:
    strikes = sampled(planned(deposits, 2, prepare=accounts)[chunk::2], 4)
    found: list[str] = []
    for start in range(0, len(strikes), TOGETHER):
        found += struck(strikes[start : start + TOGETHER])
    assert found == []


def test_a_condition_of_the_body_s_own_that_does_not_hold_fails_the_attempt() -> None:
    seen: list[int] = []

    def deposit(step: Step) -> str:
        seen.append(step.attempt)
        step.db.put("count", step.attempt)
        step.state["attempts"] = step.attempt
        step.transact(add_one("a"), add_one("b", "attribute_exists(id)"))
        return f"attempt {step.attempt}"

    @workflow(state=dict)
    def order(ctx: Context) -> list[Any]:
        failure = ctx.try_step("in vain", deposit, retry=Retry(1)).failure
        told = [failure.kind, failure.attempts, failure.error.type, failure.error.message]
        ctx.step("open", lambda step: step.transact(add_one("b")))
        counted = ctx.step("count", lambda step: step.db.get("count", int))
        return [told, counted, ctx.step("deposit", deposit)]

    with Harness(workflows=[order]) as durable:
        accounts(durable)
        execution = durable.start(order)
        durable.run()

        told, counted, deposited = execution.output
        assert told[:3] == ["exhausted", 2, "WriteRefused"]
        assert told[3].startswith("write 2 of step.transact was refused: ")
        assert (counted, deposited, seen) == (None, "attempt 1", [1, 2, 1])
        assert execution.state == {"attempts": 1}  # of the last one; the state of a failed attempt stays too (S8)
        assert (amount(durable, "a"), amount(durable, "b")) == (1, 2)


@pytest.mark.parametrize(
    ("writes", "why"),
    [
        ([{"Put": {}}], "Missing required parameter in TransactItems"),
        ([{"Put": {"TableName": "accounts", "Item": {"id": "a"}}}], "Invalid type for parameter TransactItems"),
        ([{"Put": {"TableName": "nowhere", "Item": {"id": {"S": "a"}}}}], "Requested resource not found"),
        ([{"Put": {"TableName": "accounts", "Item": {"id": {"S": "a"}, "text": {"S": "x" * 500_000}}}}], "size"),
        ([add_one("a"), add_one("a")], "one item"),
    ],
    ids=["empty", "malformed", "no table", "too large", "twice"],
)
def test_a_write_that_no_table_takes_fails_the_step_for_good_and_is_no_fault_of_ours(
    writes: list[Mapping[str, Any]], why: str
) -> None:
    @workflow
    def order(ctx: Context) -> list[Any]:
        failure = ctx.try_step("deposit", lambda step: step.transact(*writes), retry=Retry(1)).failure
        return [failure.kind, failure.attempts, failure.error.type, failure.error.message]

    with Harness(workflows=[order], steps_per_invocation=5) as durable:
        accounts(durable)
        execution = durable.start(order)
        durable.run(duration=5)

        kind, attempts, type_, message = execution.output
        assert (kind, attempts, type_) == ("critical", 1, "WriteRefused")
        assert "of step.transact was refused: " in message
        assert why in message
        assert (len(durable.invocations), amount(durable, "a")) == (1, 0)


def test_an_attempt_that_was_refused_is_made_again_and_may_succeed() -> None:
    def deposit(step: Step) -> int:
        if step.attempt == 2:
            durable.tables.put("accounts", {"id": {"S": "a"}, "amount": {"N": "10"}})
        step.transact(add_one("a", "attribute_exists(id)"))
        return step.attempt

    @workflow
    def order(ctx: Context) -> int:
        return ctx.step("deposit", deposit)

    with Harness(workflows=[order]) as durable:
        accounts(durable)
        execution = durable.start(order)
        durable.run()

        assert (execution.output, amount(durable, "a")) == (2, 11)


@pytest.mark.rule("R12")
def test_a_verb_that_comes_in_while_the_body_runs_lets_the_writes_stand_once() -> None:
    @workflow
    def order(ctx: Context) -> None:
        ctx.step("deposit", lambda step: step.transact(add_one("a")), rollback=lambda undo: undo.db.put("undone", 1))

    with Harness(workflows=[order]) as durable:
        accounts(durable)
        execution = durable.start(order)
        durable.faults.in_body(1, execution.cancel)
        durable.run()

        assert (execution.status, execution.rollback.outcome, amount(durable, "a")) == ("cancelled", "completed", 1)


# --- limits, told at the call ----------------------------------------------------------------------------------------


LIMITS: list[tuple[Callable[[Step], object], str]] = [
    (
        lambda step: [step.db.put(f"key {n}", n) for n in range(100)],
        "a step writes at most 99 items and 3,500,000 bytes in its transaction; this one has 100 and",
    ),
    (
        lambda step: [step.transact(add_one(f"a{n}")) for n in range(100)],
        "a step writes at most 99 items and 3,500,000 bytes in its transaction; this one has 100 and",
    ),
    (
        lambda step: [step.db.put(f"key {n}", "x" * 290_000) for n in range(13)],
        "a step writes at most 99 items and 3,500,000 bytes in its transaction; this one has 13 and 3,7",
    ),
    (lambda step: step.db.put("", 1), "a key of step.db is a string of 1 to 512 bytes, not ''"),
    (lambda step: step.db.get("é" * 257), "a key of step.db is a string of 1 to 512 bytes, not 'éé"),
    (lambda step: step.db.delete(7), "a key of step.db is a string of 1 to 512 bytes, not 7"),
    (lambda step: step.transact({"Get": {}}), "step.transact takes elements of TransactItems, {'Put': {…}}"),
    (lambda step: step.transact({"Put": {}, "Delete": {}}), "step.transact takes elements of TransactItems"),
    (lambda step: step.transact("Put"), "step.transact takes elements of TransactItems"),
    (
        lambda step: step.transact({"Put": {"TableName": "accounts", "Item": {"id": {"S": "\ud800"}}}}),
        "step.transact: {'Put': {'TableName': 'accounts', 'Item': {'id': {'S': '\\ud800'}}}} can't be sent: ",
    ),
    (lambda step: step.transact({"Put": {"Item": object()}}), "step.transact: {'Put': {'Item': <object object at"),
    (lambda step: step.publish("", 1), "step.publish: an event is named by 1 to 128 bytes of text, not ''"),
    (lambda step: step.publish("x" * 129, 1), "step.publish: an event is named by 1 to 128 bytes of text, not"),
]


def test_what_can_not_be_written_is_refused_at_the_call_and_writes_nothing() -> None:
    told: list[str] = []

    @workflow
    def order(ctx: Context) -> int | None:
        for at in range(len(LIMITS)):

            def one(step: Step, at: int) -> None:
                LIMITS[at][0](step)

            failure = ctx.try_step("write", one, at, retry=Retry(3)).failure
            told.append(f"{failure.kind} {failure.attempts} {failure.error.type}: {failure.error.message}")
        return ctx.step("read", lambda step: step.db.get("key 1", int))

    with Harness(workflows=[order], steps_per_invocation=99) as durable:
        accounts(durable)
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.output) == ("completed", None)
        wanted = [f"critical 1 InvalidCall: {message}" for _, message in LIMITS]
        assert [(text, want) for text, want in zip(told, wanted, strict=True) if not text.startswith(want)] == []


@pytest.mark.rule("S12")
def test_a_value_that_can_not_be_stored_is_a_codec_error_with_its_path() -> None:
    @workflow
    def order(ctx: Context) -> list[str]:
        failure = ctx.try_step("write", lambda step: step.db.put("key", {"a": [object()]})).failure
        return [failure.kind, failure.error.type, failure.error.details["path"]]

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.output == ["critical", "CodecError", "$.a[0]"]

"""A queue wait is durable: messages come in order, each is taken once, and early ones are kept."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from durable import (
    Break,
    Context,
    Continue,
    ErrorInfo,
    InvalidCall,
    InvalidInput,
    InvalidName,
    Message,
    Queue,
    QueueTimeout,
    Step,
    workflow,
)
from durable.testing import Harness
from durable.testing.clock import START
from tests.scenarios import table

pytestmark = pytest.mark.rule("Q1")


@dataclass(frozen=True)
class Payment:
    id: str
    amount: int


payments = Queue("payments", Payment)


def read(message: Message[Any]) -> tuple[str, Any]:
    return message.queue, message.body


@workflow
def two_waits(ctx: Context) -> list[Any]:
    first = ctx.queue.next("first", "letters")
    ctx.step("between", lambda step: None)
    second = ctx.queue.next("second", "letters")
    return [first.body, second.body]


@pytest.mark.rule("Q2")
def test_messages_come_in_the_order_in_which_they_were_sent_and_each_goes_to_one_wait() -> None:
    with Harness(workflows=[two_waits]) as durable:
        execution = durable.start(two_waits)
        durable.run()
        assert (execution.status, durable.messages()) == ("waiting", [])
        for letter in "abc":
            execution.send("letters", letter)
        durable.run()

        assert execution.output == ["a", "b"]
        assert [(entry.path, entry.kind, entry.status) for entry in execution.history if entry.kind == "queue"] == [
            ("first", "queue", "completed"),
            ("second", "queue", "completed"),
        ]


@pytest.mark.rule("Q2")
def test_those_that_come_before_the_first_invocation_are_kept() -> None:
    with Harness(workflows=[two_waits], steps_per_invocation=5) as durable:
        execution = durable.start(two_waits)
        execution.send("letters", "a")
        execution.send("letters", "b")
        assert (execution.status, durable.invocations) == ("pending", [])
        durable.run()

        assert execution.output == ["a", "b"]
        assert durable.clock.moment == START


@pytest.mark.rule("Q7")
def test_a_wait_on_several_queues_or_on_all_takes_the_oldest_of_them() -> None:
    @workflow
    def order(ctx: Context) -> list[Any]:
        return [
            read(ctx.queue.next("a or b", ["b", "a", "b"])),
            read(ctx.queue.next("any")),
            read(ctx.queue.next("declared", payments)),
            read(ctx.queue.next("the rest")),
            read(ctx.queue.next("the rest")),
        ]

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        execution.send("odd #1/%", 0)
        for queue, body in (("a", 1), ("b", 2), ("c", 3)):
            execution.send(queue, body)
        execution.send(payments, Payment("p-1", 10))
        durable.run()

        assert execution.output == [("a", 1), ("odd #1/%", 0), ("payments", Payment("p-1", 10)), ("b", 2), ("c", 3)]


def test_a_batch_is_what_is_there_up_to_the_count_and_does_not_wait_to_be_full() -> None:
    @workflow
    def order(ctx: Context) -> list[list[int]]:
        return [[message.body for message in ctx.queue.next_batch("batch", "numbers", count=3)] for _ in range(3)]

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        for number in range(5):
            execution.send("numbers", number)
        durable.run()
        assert execution.status == "waiting"
        execution.send("numbers", 5)
        durable.run()

        assert execution.output == [[0, 1, 2], [3, 4], [5]]


@pytest.mark.rule("D4")
def test_a_wait_that_is_over_raises_and_a_batch_s_is_empty_the_same_on_every_replay() -> None:
    seen: list[list[Any]] = []

    @workflow
    def order(ctx: Context) -> None:
        try:
            ctx.queue.next("one", "letters", timeout=60)
        except QueueTimeout as error:
            outcome: list[Any] = [str(error), ctx.now()]
        batch = ctx.queue.next_batch("many", "letters", count=9, timeout=60)
        seen.append([*outcome, batch, ctx.now()])
        ctx.sleep("pause", 60)

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.status == "completed"
        assert (
            seen
            == [
                [
                    "no message came to 'one' within 60",
                    datetime(2030, 1, 1, 0, 1, tzinfo=UTC),
                    [],
                    datetime(2030, 1, 1, 0, 2, tzinfo=UTC),
                ]
            ]
            * 2
        )


def test_with_no_time_to_wait_only_what_is_there_is_taken() -> None:
    @workflow
    def order(ctx: Context) -> list[int]:
        return [len(ctx.queue.next_batch("look", "letters", timeout=0)) for _ in range(3)]

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        execution.send("letters", "a")
        durable.run()

        assert (execution.output, durable.clock.moment) == ([1, 0, 0], START)


@pytest.mark.rule("L2")
def test_a_drain_may_use_one_name_for_all_its_waits() -> None:
    @workflow
    def order(ctx: Context) -> list[int]:
        taken: list[int] = []
        while batch := ctx.queue.next_batch("drain", "numbers", count=2, timeout=0):
            taken += [ctx.step("take", lambda step, body: body, message.body) for message in batch]
        return taken

    with Harness(workflows=[order], steps_per_invocation=3) as durable:
        execution = durable.start(order)
        for number in range(5):
            execution.send("numbers", number)
        durable.run()

        assert execution.output == [0, 1, 2, 3, 4]


@pytest.mark.rule("L2", "L4")
@pytest.mark.parametrize("steps", [1, 99])
def test_a_turn_may_use_one_name_for_all_its_waits_and_the_next_turn_the_same(steps: int) -> None:
    """A bounded drain: at most three messages a turn, each by a wait of the same name."""

    def turn(ctx: Context, drained: list[list[int]]) -> Continue[list[list[int]]] | Break[list[list[int]]]:
        taken: list[int] = []
        for _ in range(3):
            batch = ctx.queue.next_batch("next", "numbers", timeout=5)
            if not batch:
                break
            taken.append(ctx.step("take", lambda step, body: body, batch[0].body))
        drained = [*drained, taken]
        return Continue(drained) if taken else Break(drained)

    @workflow
    def order(ctx: Context) -> list[list[int]]:
        begin: list[list[int]] = []
        return ctx.loop("turns", turn, state=begin, keep=9)

    with Harness(workflows=[order], steps_per_invocation=steps) as durable:
        execution = durable.start(order)
        for number in range(8):
            execution.send("numbers", number)
        durable.run()

        assert execution.output == [[0, 1, 2], [3, 4, 5], [6, 7], []]
        assert [entry.path for entry in execution.history if entry.kind == "queue"][:6] == [
            f"turns[{turn}]/{wait}" for turn in (0, 1) for wait in ("next", "next#2", "next#3")
        ]
        assert len(durable.faults.bodies) == 8


def test_a_message_says_what_it_is() -> None:
    @workflow
    def order(ctx: Context) -> list[Any]:
        message = ctx.queue.next("wait", payments)
        return [message.id, message.queue, message.sent_at, message.body, repr(message)]

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.clock.advance(90)
        execution.send(payments, Payment("p-1", 10), message_id="m-1")
        durable.run()

        moment = datetime(2030, 1, 1, 0, 1, 30, tzinfo=UTC)
        assert execution.output == ["m-1", "payments", moment, Payment("p-1", 10), "<message m-1 on payments>"]


@pytest.mark.rule("Q7")
def test_a_message_that_does_not_fit_is_taken_and_told_once() -> None:
    @workflow
    def order(ctx: Context) -> list[Any]:
        try:
            ctx.queue.next("wait", "payments", body=Payment)
        except InvalidInput as error:
            told = [str(error), error.path]
        return [*told, ctx.queue.next("wait", "payments", body=Payment).body]

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        execution.send("payments", {"id": "p-1", "amount": "ten"}, message_id="bad")
        execution.send("payments", {"id": "p-2", "amount": 20})
        durable.run()

        message = "message 'bad' on queue 'payments' does not fit: Expected `int`, got `str` - at `$.amount`"
        assert execution.output == [message, "$.amount", Payment("p-2", 20)]


@pytest.mark.rule("Q7")
def test_one_that_nobody_catches_fails_the_execution_and_is_gone() -> None:
    undone: list[str] = []

    @workflow
    def order(ctx: Context) -> None:
        ctx.step("reserve", lambda step: None, rollback=lambda undo: undone.append(undo.path))
        ctx.queue.next("wait", "numbers", body=int)

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        execution.send("numbers", "many", message_id="bad")
        durable.run()

        assert (execution.status, execution.error.type, undone) == ("failed", "InvalidInput", ["reserve"])
        assert durable.messages(None) == []


@pytest.mark.rule("Q7")
def test_in_a_batch_the_others_are_as_good_as_ever() -> None:
    @workflow
    def order(ctx: Context) -> list[Any]:
        seen: list[Any] = []
        for message in ctx.queue.next_batch("batch", "numbers", body=int, count=3):
            try:
                seen.append(message.body)
            except InvalidInput as error:
                seen.append(error.path)
        return seen

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        for body in (1, "two", 3):
            execution.send("numbers", body)
        durable.run()

        assert execution.output == [1, "$", 3]


@pytest.mark.rule("Q7")
def test_a_step_sends_to_the_queues_of_its_own_execution() -> None:
    def tell(step: Step) -> None:
        step.queue.send("notes", "a note")
        step.queue.send(payments, Payment("p-1", 10))

    @workflow
    def order(ctx: Context) -> list[Any]:
        ctx.step("tell", tell)
        return [ctx.queue.next("note", "notes").body, ctx.queue.next("payment", payments).body]

    for steps in (1, 5):
        with Harness(workflows=[order], steps_per_invocation=steps) as durable:
            execution = durable.start(order)
            durable.run()

            assert execution.output == ["a note", Payment("p-1", 10)]


@pytest.mark.rule("D5")
def test_a_step_with_a_name_like_that_of_what_a_wait_records_is_another_operation() -> None:
    @workflow
    def order(ctx: Context) -> list[Any]:
        message = ctx.queue.next("q", "letters", completable=True)
        message.complete("thanks")
        names = ["q:count", "q/reply", "q", "q:0"]
        inner = ctx.try_block("q", lambda ctx: ctx.step("reply", lambda step: step.path)).value
        return [message.body, *(ctx.step(name, lambda step: step.path) for name in names), inner]

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        execution.send("letters", "a")
        durable.run()

        assert execution.output == ["a", "q:count", "q%2Freply", "q#3", "q:0", "q#2/reply"]


BAD: list[tuple[Any, type[Exception], str]] = [
    (
        lambda queue: queue.next_batch("w", count=0),
        InvalidCall,
        "queue wait 'w': count is a whole number from 1, not 0",
    ),
    (lambda queue: queue.next_batch("w", count=-3), InvalidCall, "count is a whole number from 1, not -3"),
    (lambda queue: queue.next_batch("w", count=True), InvalidCall, "count is a whole number from 1, not True"),
    (lambda queue: queue.next_batch("w", count="2"), InvalidCall, "count is a whole number from 1, not '2'"),
    (lambda queue: queue.next("w", timeout=-1), InvalidCall, "queue wait 'w': timeout is negative: -1"),
    (lambda queue: queue.next("w", timeout="60"), InvalidCall, "timeout is a timedelta or a number of seconds"),
    (lambda queue: queue.next("w", []), InvalidCall, "no queue is named; write queues=None to wait on all"),
    (lambda queue: queue.next("w", ""), InvalidName, "a queue's name is a string that is not empty, not ''"),
    (lambda queue: queue.next("w", [3]), InvalidName, "a queue's name is a string that is not empty, not 3"),
    (lambda queue: queue.next("w", "\ud800"), InvalidName, "holds a lone surrogate, which can't be stored"),
    (lambda queue: queue.next("w", "q" * 129), InvalidName, "is longer than 128 bytes"),
    (lambda queue: queue.next("", "letters"), InvalidName, "the name of a durable operation is empty"),
]


def test_a_wait_that_can_not_be_is_refused_at_the_call() -> None:
    told: list[tuple[type[Exception], str]] = []

    @workflow
    def order(ctx: Context) -> None:
        for call, _, _ in BAD:
            try:
                call(ctx.queue)
            except (InvalidCall, InvalidName) as error:
                told.append((type(error), str(error)))

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, [kind for kind, _ in told]) == ("completed", [kind for _, kind, _ in BAD])
        assert [text for (_, text), (_, _, wanted) in zip(told, BAD, strict=True) if wanted not in text] == []


@pytest.mark.rule("F3", "D8")
def test_user_code_never_sees_the_wait_itself() -> None:
    caught: list[Exception] = []

    @workflow
    def order(ctx: Context) -> str:
        try:
            return ctx.queue.next("wait", "letters", body=str).body
        except Exception as error:
            caught.append(error)
            raise

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()
        execution.send("letters", "a")
        durable.run()

        assert (execution.output, caught) == ("a", [])


@pytest.mark.rule("D4")
def test_a_timeout_that_nobody_catches_is_the_execution_s_error() -> None:
    @workflow
    def order(ctx: Context) -> None:
        ctx.queue.next("approval", "approvals", timeout=60)

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.error) == (
            "failed",
            ErrorInfo("QueueTimeout", "no message came to 'approval' within 60"),
        )


@pytest.mark.rule("Q2")
@pytest.mark.parametrize(("count", "size"), [(60, 10), (9, 150_000)])
def test_many_messages_and_large_ones_come_in_order_and_leave_nothing_behind(count: int, size: int) -> None:
    @workflow
    def order(ctx: Context) -> list[int]:
        taken: list[int] = []
        while len(taken) < count:
            batch = ctx.queue.next_batch("batch", "texts", body=str, count=100)
            taken += [int(message.body[:4]) for message in batch]
        return taken

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        for number in range(count):
            execution.send("texts", f"{number:04}".ljust(size, "x"))
        durable.run()

        assert execution.output == list(range(count))
        assert [key for key in table.items(durable, execution.id) if key.startswith("message#")] == []


@pytest.mark.rule("S3")
def test_a_message_that_can_not_be_stored_fails_its_step_at_once() -> None:
    @workflow
    def order(ctx: Context) -> list[Any]:
        sends = (
            lambda step: step.queue.send("texts", {"a": object()}),
            lambda step: step.queue.send(payments, 7),
            lambda step: step.queue.send("", "a"),
        )
        failures = [ctx.try_step("send", send).failure for send in sends]
        return [(failure.kind, failure.attempts, failure.error.type) for failure in failures]

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.output == [
            ("critical", 1, "InvalidInput"),
            ("critical", 1, "InvalidInput"),
            ("critical", 1, "InvalidName"),
        ]

"""A start without input: the workflow gets the default of its parameter, whoever starts it; one that has none is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from durable import AlreadyStarted, Context, InvalidCall, InvalidInput, workflow
from durable.testing import Harness
from tests.handler.conftest import Ask, Batch


@dataclass(frozen=True)
class Reminder:
    text: str
    days: int = 3


PAY = Reminder("pay")
NOTHING: Any = None


@workflow
def remind(ctx: Context, reminder: Reminder = PAY) -> Reminder:
    return ctx.step("remind", lambda step, reminder: reminder, reminder, returns=Reminder)


@workflow
def needs_one(ctx: Context, reminder: Reminder) -> Reminder:
    return reminder


@workflow
def may_have_none(ctx: Context, days: int | None = 7) -> int | None:
    return days


@workflow
def none_by_its_author(ctx: Context, reminder: Reminder = NOTHING) -> Reminder:
    return reminder


@pytest.fixture
def durable() -> Iterator[Harness]:
    schedule = {"StartSchedule": "at(2030-01-01T00:01:00)", "StartScheduleWorkflow": "remind"}
    with Harness(workflows=[remind, needs_one, may_have_none, none_by_its_author], parameters=schedule) as harness:
        yield harness


@pytest.mark.rule("D2")
@pytest.mark.parametrize("how", ["client", "queue", "queue, null", "event", "schedule", "http", "http, null"])
def test_the_default_is_the_input_whoever_starts_it(durable: Harness, ask: Ask, batch: Batch, how: str) -> None:
    execution_id = "r-1"
    match how:
        case "client":
            durable.start(remind, execution_id="r-1")
        case "queue":
            durable.invoke("Start", batch("start", '{"workflow": "remind", "execution_id": "r-1"}'))
        case "queue, null":
            durable.invoke("Start", batch("start", '{"workflow": "remind", "execution_id": "r-1", "input": null}'))
        case "event":
            durable.invoke("Start", {"workflow": "remind", "execution_id": "r-1"})
        case "schedule":
            execution_id = "remind-2030-01-01T00:01:00Z"
        case _:
            body = None if how == "http" else " null "
            headers = {"idempotency-key": "r-1"}
            assert ask("POST", "/workflows/remind/executions", body, headers=headers)[0] == 202
    durable.run()

    execution = durable.get(remind, execution_id)
    assert (execution.status, execution.output) == ("completed", PAY)


@pytest.mark.rule("E2")
def test_it_is_the_same_start_as_one_with_that_input_and_another_than_one_without_that(durable: Harness) -> None:
    first = durable.start(remind, execution_id="r-1")
    assert [durable.start(remind, execution_id="r-1").id, durable.start(remind, PAY, execution_id="r-1").id] == [
        first.id
    ] * 2
    assert durable.start_named("remind", {"text": "pay"}, execution_id="r-1").id == first.id
    with pytest.raises(AlreadyStarted):
        durable.start(remind, Reminder("pay", 4), execution_id="r-1")


@pytest.mark.rule("D6")
def test_it_is_kept_with_the_execution_and_not_read_from_the_code_of_a_later_day() -> None:
    def deployed(days: int) -> Any:
        @workflow(name="remind")
        def remind(ctx: Context, days: int = days) -> list[int]:
            ctx.sleep("pause", 60)
            return [days, ctx.step("remind", lambda step, days: days, days)]

        return remind

    with Harness(workflows=[deployed(3)]) as durable:
        begun = durable.start(deployed(3))
        durable.run(duration=30)
        durable.deploy([deployed(5)])
        later = durable.start(deployed(5))
        durable.run()

        assert [begun.output, later.output] == [[3, 3], [5, 5]]


def test_what_one_execution_does_to_a_default_is_not_seen_by_the_next() -> None:
    items: list[str] = []

    @workflow
    def collect(ctx: Context, items: list[str] = items) -> list[str]:
        items.append(ctx.step("collect", lambda step: "an item"))
        return items

    with Harness(workflows=[collect]) as durable:
        executions = [durable.start(collect) for _ in range(2)]
        durable.run()

        assert ([execution.output for execution in executions], items) == ([["an item"]] * 2, [])


def test_none_is_an_input_where_it_fits_and_a_default_is_its_author_s_word(durable: Harness) -> None:
    executions = [durable.start(may_have_none, None), durable.start(may_have_none), durable.start(none_by_its_author)]
    durable.run()
    assert [execution.output for execution in executions] == [None, 7, None]

    with pytest.raises(InvalidInput, match="Expected `Reminder`, got `NoneType`"):
        durable.start(remind, NOTHING)


@pytest.mark.rule("E10")
def test_one_that_needs_an_input_is_told_so(
    durable: Harness, ask: Ask, batch: Batch, rejected: Callable[[], list[tuple[str, str]]]
) -> None:
    told = (
        "workflow 'needs_one' was started without input: Expected `Reminder`, got `NoneType` - at `$`. Give it one, or"
    )
    with pytest.raises(InvalidInput, match="Give it one, or give its parameter a default") as raised:
        durable.start(needs_one)  # type checkers say so too
    assert (str(raised.value).startswith(told), raised.value.path) == (True, "$")

    bodies = ['{"workflow": "needs_one"}', '{"workflow": "needs_one", "input": null}']
    durable.invoke("Start", batch("start", *bodies))
    kept, reasons = zip(*rejected(), strict=True)
    assert sorted(kept) == sorted(bodies)
    in_json = (
        "InvalidInput: workflow 'needs_one' was started without input: Expected `object`, got `null` - at `$`. Give"
    )
    assert [reason.startswith(in_json) for reason in reasons] == [True, True]

    for text in (None, "null"):
        status, answer = ask("POST", "/workflows/needs_one/executions", text)
        assert (status, answer["error"], answer["field"]) == (400, "InvalidInput", "$")
        assert answer["message"].startswith("workflow 'needs_one' was started without input: ")


class Service:
    def bound(self, ctx: Context, days: int = 4) -> int:
        return days

    def __call__(self, ctx: Context, days: int = 5) -> int:
        return days


def positional(ctx: Context, days: int = 3, /) -> int:
    return days


def by_keyword(ctx: Context, *, days: int = 6) -> int:
    return days


def with_both(ctx: Context, days: int = 7, *, again: bool = False) -> int:
    return days + again


@pytest.mark.parametrize(
    ("function", "default", "takes_input"),
    [
        (positional, 3, True),
        (Service().bound, 4, True),
        (Service(), 5, True),
        (by_keyword, 6, False),
        (with_both, 7, True),
        (partial(positional), 3, True),
        (partial(by_keyword, days=8), 8, False),
        (lambda ctx, days=9: days, 9, True),
    ],
    ids=["positional", "method", "object", "keyword", "both", "partial", "bound keyword", "lambda"],
)
def test_any_callable_may_have_a_default_and_only_a_positional_parameter_is_the_input(
    function: Any, default: int, takes_input: bool
) -> None:
    shaped = workflow(name="shaped")(function)
    with Harness(workflows=[shaped]) as durable:
        execution = durable.start(shaped)
        durable.run()
        assert execution.output == default

        if takes_input:
            given = durable.start(shaped, 99)
            durable.run()
            assert given.output == 99
        else:
            with pytest.raises(InvalidInput, match="workflow 'shaped' takes no input, and was given int"):
                durable.start(shaped, 99)


def test_a_required_keyword_that_nothing_fills_is_refused_at_the_decorator() -> None:
    def order(ctx: Context, *, days: int) -> int:
        return days

    with pytest.raises(
        InvalidCall, match="requires the keyword 'days', and nothing gives it one: the input of a workflow"
    ):
        workflow(order)


def test_a_default_that_can_not_be_stored_is_told_at_the_start() -> None:
    lock = object()

    @workflow
    def order(ctx: Context, lock: Any = lock) -> None:
        """Never started."""

    with (
        Harness(workflows=[order]) as durable,
        pytest.raises(InvalidInput, match="the input of workflow 'order' can't"),
    ):
        durable.start(order)

"""What ends a `wait_for`: a value that is not None; of a check annotated `bool`, True. The value is typed by the annotation.

A loop's state and result are typed by the annotations of its body, as a step's result is: a class that is renamed
meanwhile does not matter, and a class of a function's own works.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from types import ModuleType
from typing import Any, NamedTuple, cast

import pytest

from durable import Break, Context, Continue, InvalidCall, Retry, Step
from durable.testing import Harness
from tests.scenarios.code import Code

pytestmark = pytest.mark.rule("J7")


def third(step: Step) -> bool:
    """Whether this is the third look."""
    return "[2]" in step.path


# --- what ends it ----------------------------------------------------------------------------------------------------------


def plain(step: Step) -> bool:
    return third(step)


async def asynchronous(step: Step) -> bool:
    return third(step)


def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*arguments: Any) -> Any:
        return function(*arguments)

    return wrapper


class Checker:
    def __call__(self, step: Step) -> bool:
        return third(step)

    def method(self, step: Step) -> bool:
        return third(step)


def with_argument(number: int, step: Step) -> bool:
    return third(step)


def annotated(annotation: Any) -> Callable[..., Any]:
    def check(step: Step) -> Any:
        return third(step)

    check.__annotations__["return"] = annotation
    return check


CHECKS = {
    "plain": plain,
    "async": asynchronous,
    "decorated": decorated(plain),
    "decorated twice": decorated(decorated(plain)),
    "an object": Checker(),
    "a method": Checker().method,
    "a partial": functools.partial(with_argument, 7),
    "the class bool": annotated(bool),
    "the text bool": annotated("bool"),
}


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS.keys())
def test_a_check_annotated_bool_ends_it_with_true(check: Callable[[Step], bool]) -> None:
    seen: list[bool] = []

    def order(ctx: Context) -> None:
        seen.append(ctx.wait_for("it", check, every=60))
        ctx.sleep("pause", 60)

    code = Code(order)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert (execution.status, seen) == ("completed", [True, True])
        assert durable.faults.bodies == [f"it[{number}]/check" for number in range(3)]


def test_a_check_annotated_bool_that_is_never_true_times_out() -> None:
    def never(step: Step) -> bool:
        return False

    code = Code(lambda ctx: ctx.wait_for("it", never, every=60, timeout=120))
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert (execution.status, execution.error.type) == ("failed", "WaitTimedOut")


@pytest.mark.parametrize("value", [0, 0.0, "", [], {}, Decimal(0), False])
def test_any_other_value_that_is_not_none_ends_it(value: object) -> None:
    def check(step: Step) -> Any:
        return value if third(step) else None

    code = Code(lambda ctx: [ctx.wait_for("it", check, every=60)])
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert (execution.status, execution.output) == ("completed", [value])


def test_a_check_that_may_return_none_ends_with_false_where_it_says_so() -> None:
    """`bool | None` has three answers: not yet, yes, no."""

    def approved(step: Step) -> bool | None:
        return False if third(step) else None

    code = Code(lambda ctx: ctx.wait_for("it", approved, every=60))
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert (execution.status, execution.output, len(durable.faults.bodies)) == ("completed", False, 3)


# --- retry and check_timeout -----------------------------------------------------------------------------------------------


@pytest.mark.rule("S1")
@pytest.mark.parametrize(("retry", "attempts"), [(None, 4), (Retry(0), 1), (Retry(6, backoff_base=60), 7)])
def test_the_attempts_of_a_look_follow_its_retry(retry: Retry | None, attempts: int) -> None:
    def check(step: Step) -> str | None:
        raise ConnectionError("no line")

    code = Code(lambda ctx: ctx.wait_for("it", check, every=60, retry=retry))
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert (execution.status, execution.error.type) == ("failed", "ConnectionError")
        assert durable.faults.bodies == ["it[0]/check"] * attempts
        assert execution.error.details["attempts"] == attempts


@pytest.mark.rule("S4")
@pytest.mark.parametrize(("retry", "looks"), [(None, 1), (Retry(1, on_timeout=True, backoff_base=0.1), 2)])
def test_one_look_is_bounded_by_check_timeout(retry: Retry | None, looks: int) -> None:
    def check(step: Step) -> str | None:
        if step.attempt == 1:
            end = time.monotonic() + 5
            while time.monotonic() < end:
                time.sleep(0.001)
        return "there"

    code = Code(lambda ctx: ctx.wait_for("it", check, every=60, retry=retry, check_timeout=0.05))
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        ended = execution.output if execution.status == "completed" else execution.error.details["kind"]
        assert (ended, len(durable.faults.bodies)) == ("there" if looks == 2 else "timeout", looks)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"check_timeout": 0}, "wait_for 'it': check_timeout is zero"),
        ({"check_timeout": -1}, "wait_for 'it': check_timeout is negative: -1"),
        ({"check_timeout": "60"}, "wait_for 'it': check_timeout is a timedelta or a number of seconds"),
        ({"retry": 3}, "wait_for 'it': retry is a Retry, not 3"),
    ],
)
def test_options_that_can_not_be_are_refused_at_the_call(options: dict[str, Any], message: str) -> None:
    def order(ctx: Context) -> str:
        try:
            ctx.wait_for("it", lambda step: None, every=60, **options)
        except InvalidCall as error:
            return str(error)
        return "taken"

    code = Code(order)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert execution.output.startswith(message)
        assert durable.faults.bodies == []


# --- types -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Parcel:
    tracking: str
    weight: Decimal


class Point(NamedTuple):
    x: int
    y: int


def local_class() -> tuple[Any, Any]:
    @dataclass
    class Local:
        tracking: str

    return Local, Local("p-1")


TYPED: dict[str, Callable[[], tuple[Any, Any]]] = {
    "a dataclass": lambda: (Parcel, Parcel("p-1", Decimal("1.50"))),
    "a class of a function's own": local_class,
    "a named tuple": lambda: (Point, Point(1, 2)),
    "a tuple": lambda: (tuple[int, str], (1, "a")),
    "a set": lambda: (set[int], {1, 2}),
    "a list of dataclasses": lambda: (list[Parcel], [Parcel("p-1", Decimal("1.50"))]),
    "a Decimal": lambda: (Decimal, Decimal("1.50")),
}
each_type = pytest.mark.parametrize("make", TYPED.values(), ids=TYPED.keys())
each_mode = pytest.mark.parametrize("steps", [1, 20])


def seen_by(body: Callable[[Context], Any], steps: int) -> list[Any]:
    """What the workflow gets, at its first run and at the replays after it."""
    seen: list[Any] = []

    def order(ctx: Context) -> None:
        seen.append(body(ctx))
        ctx.sleep("pause", 60)
        ctx.step("after", lambda step: None)

    code = Code(order)
    with Harness(workflows=[code.workflow], steps_per_invocation=steps) as durable:
        execution = durable.start(code.workflow)
        durable.run()
        assert execution.status == "completed", execution.error
    assert len(seen) >= 2
    return seen


@each_type
@each_mode
@pytest.mark.rule("D3")
@pytest.mark.parametrize("optional", [False, True])
def test_the_value_is_of_the_type_that_the_check_says(
    make: Callable[[], tuple[Any, Any]], optional: bool, steps: int
) -> None:
    annotation, value = make()

    def check(step: Step) -> Any:
        return value if third(step) else None

    check.__annotations__["return"] = annotation | None if optional else annotation
    if not optional:
        check = always(annotation, value)
    seen = seen_by(lambda ctx: ctx.wait_for("it", check, every=60), steps)

    assert all((type(each), each) == (type(value), value) for each in seen)


def always(annotation: Any, value: Any) -> Any:
    def check(step: Step) -> Any:
        return value

    check.__annotations__["return"] = annotation
    return check


@each_type
@each_mode
@pytest.mark.rule("D3", "L1")
def test_what_a_loop_breaks_with_is_of_the_type_that_its_body_says(
    make: Callable[[], tuple[Any, Any]], steps: int
) -> None:
    annotation, value = make()

    def turn(ctx: Context) -> Any:
        return Break(value) if ctx.step("turn", third_turn) else None

    broken = cast(Any, Break)
    turn.__annotations__["return"] = broken[annotation] | None
    seen = seen_by(lambda ctx: ctx.loop("it", turn), steps)

    assert all((type(each), each) == (type(value), value) for each in seen)


def third_turn(step: Step) -> bool:
    return third(step)


@each_type
@each_mode
@pytest.mark.rule("D3", "L1", "L4")
def test_the_state_of_a_loop_is_of_the_type_that_its_body_says(make: Callable[[], tuple[Any, Any]], steps: int) -> None:
    annotation, value = make()
    states: list[Any] = []

    def turn(ctx: Context, state: Any) -> Any:
        states.append(state)
        return Break(state) if ctx.step("turn", third_turn) else Continue(state)

    goes_on, broken = cast(Any, Continue), cast(Any, Break)
    turn.__annotations__ = {"state": annotation, "return": goes_on[annotation] | broken[annotation]}
    seen = seen_by(lambda ctx: ctx.loop("it", turn, state=value, prune_every=1), steps)

    assert all((type(each), each) == (type(value), value) for each in [*states, *seen])


@each_mode
@pytest.mark.rule("D6")
@pytest.mark.parametrize("kind", ["wait_for", "loop result", "loop state"])
def test_a_class_that_is_renamed_while_it_waits_does_not_matter(
    kind: str, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = ModuleType("renamed_shop")
    monkeypatch.setitem(sys.modules, "renamed_shop", shop)
    seen: list[Any] = []

    def define(name: str) -> Any:
        @dataclass
        class Renamed:
            tracking: str

        vars(shop).clear()
        Renamed.__module__ = "renamed_shop"
        Renamed.__name__ = Renamed.__qualname__ = name
        setattr(shop, name, Renamed)
        return Renamed

    def order(cls: Any) -> Callable[[Context], None]:
        def check(step: Step) -> Any:
            return cls("p-1")

        def result(ctx: Context) -> Any:
            return Break(cls("p-1"))

        def turn(ctx: Context, state: Any) -> Any:
            if ctx.step("turn", third_turn):
                ctx.sleep("in the loop", 60)
                return Break(state)
            return Continue(state)

        check.__annotations__["return"] = cls | None
        result.__annotations__["return"] = Break[cls]
        turn.__annotations__ = {"state": cls, "return": Continue[cls] | Break[cls]}

        def run(ctx: Context) -> None:
            if kind == "wait_for":
                seen.append(ctx.wait_for("it", check, every=60))
            elif kind == "loop result":
                seen.append(ctx.loop("it", result))
            else:
                seen.append(ctx.loop("it", turn, state=cls("p-1"), prune_every=1))
            ctx.sleep("pause", 60)

        return run

    code = Code(order(define("Parcel")))
    with Harness(workflows=[code.workflow], steps_per_invocation=steps) as durable:
        execution = durable.start(code.workflow)
        durable.run(duration=30)
        renamed = define("Shipment")
        code.deployed = order(renamed)
        durable.restart_processes()
        durable.run()

        assert (execution.status, seen[-1]) == ("completed", renamed("p-1"))

"""However a rollback is made, in a loop each undoes its own item."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from durable import Context, InvalidCall, Retry, Step, Undo, workflow
from durable.testing import Harness

pytestmark = pytest.mark.rule("D13")

Shape = Callable[[Context, Any, list[str]], None]
SHAPES: list[Shape] = []
released: list[str] = []  # of the module: what rollbacks append to


def shape(function: Shape) -> Shape:
    SHAPES.append(function)
    return function


def reserve(step: Step, *_more: Any) -> str:
    return step.path


def release(item: str) -> None:
    released.append(item)


def logged(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def inner(*arguments: Any, **named: Any) -> Any:
        return function(*arguments, **named)

    return inner


def plainly(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: function(*arguments)


def with_options(**_options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return lambda function: logged(function)


@dataclass
class Traced:
    """A decorator that is a class."""

    function: Callable[..., Any]

    def __call__(self, undo: Undo) -> Any:
        return self.function(undo)


class Slotted:
    """Another, without a __dict__."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, undo: Undo) -> Any:
        return self.function(undo)


@shape
def decorated(ctx: Context, items: Any, seen: list[str]) -> None:
    for item in items:

        @logged
        def undo(undo: Undo) -> None:
            release(item)

        ctx.step("reserve", reserve, rollback=undo)


@shape
def decorated_by_a_closure_without_wraps(ctx: Context, items: Any, seen: list[str]) -> None:
    for item in items:
        ctx.step("reserve", reserve, rollback=plainly(plainly(lambda undo: release(item))))


@shape
def decorated_with_options(ctx: Context, items: Any, seen: list[str]) -> None:
    for item in items:

        @with_options(times=3)
        @with_options(name="undo")
        def undo(undo: Undo) -> None:
            release(item)

        ctx.step("reserve", reserve, rollback=undo)


@shape
def decorated_by_a_class(ctx: Context, items: Any, seen: list[str]) -> None:
    for item in items:
        ctx.step("reserve", reserve, rollback=Traced(Slotted(lambda undo: release(item))))


@shape
def a_method_of_what_decorates(ctx: Context, items: Any, seen: list[str]) -> None:
    for item in items:
        ctx.step("reserve", reserve, rollback=Traced(lambda undo: release(item)).__call__)


@shape
def partial(ctx: Context, items: Any, seen: list[str]) -> None:
    for item in items:

        def undo(undo: Undo) -> None:
            release(item)

        ctx.step("reserve", reserve, rollback=functools.partial(undo))


@shape
def partial_with_a_function_among_its_arguments(ctx: Context, items: Any, seen: list[str]) -> None:
    def run(act: Callable[[], None], undo: Undo) -> None:
        act()

    for item in items:
        ctx.step("reserve", reserve, rollback=functools.partial(run, lambda: release(item)))


@shape
def partial_with_a_function_by_name(ctx: Context, items: Any, seen: list[str]) -> None:
    def run(undo: Undo, *, act: Callable[[], None]) -> None:
        act()

    for item in items:
        ctx.step("reserve", reserve, rollback=functools.partial(functools.partial(run, act=lambda: release(item))))


@shape
def calls_a_local_function(ctx: Context, items: Any, seen: list[str]) -> None:
    def undo_it() -> None:
        release(item)

    for item in items:
        ctx.step("reserve", reserve, rollback=lambda undo: undo_it())


@shape
def calls_a_local_function_that_calls_another(ctx: Context, items: Any, seen: list[str]) -> None:
    def name() -> str:
        return item

    def undo_it() -> None:
        release(name())

    for item in items:

        def undo(undo: Undo) -> None:
            undo_it()

        ctx.step("reserve", reserve, rollback=logged(undo))


@shape
def calls_a_default(ctx: Context, items: Any, seen: list[str]) -> None:
    def undo_it() -> None:
        release(item)

    for item in items:
        ctx.step("reserve", reserve, rollback=lambda undo, act=undo_it: act())


@shape
def calls_a_keyword_s_default(ctx: Context, items: Any, seen: list[str]) -> None:
    def undo_it() -> None:
        release(item)

    for item in items:
        ctx.step("reserve", reserve, rollback=lambda undo, *, act=undo_it: act())


@shape
def a_method_of_a_local_class(ctx: Context, items: Any, seen: list[str]) -> None:
    for item in items:

        class Reservation:
            def undo(self, undo: Undo) -> None:
                release(item)

        ctx.step("reserve", reserve, rollback=Reservation().undo)


@shape
def a_method_that_calls_another(ctx: Context, items: Any, seen: list[str]) -> None:
    class Base:
        @property
        def item(self) -> str:
            return item

        @classmethod
        def name(cls) -> str:
            return item

        @staticmethod
        def check() -> None:
            assert item

    class Reservation(Base):
        def undo(self, undo: Undo) -> None:
            self.check()
            assert self.name() == super().name()
            release(self.item)

    reservation = Reservation()
    for item in items:
        ctx.step("reserve", reserve, rollback=reservation.undo)


@shape
def an_object_of_a_local_class_in_a_lambda(ctx: Context, items: Any, seen: list[str]) -> None:
    class Reservation:
        def undo(self) -> None:
            release(item)

    reservation = Reservation()
    for item in items:
        ctx.step("reserve", reserve, rollback=lambda undo: reservation.undo())


@shape
def a_callable_object_of_a_local_class(ctx: Context, items: Any, seen: list[str]) -> None:
    for item in items:

        class Undoing:
            def __call__(self, undo: Undo) -> None:
                release(item)

        ctx.step("reserve", reserve, rollback=Undoing())


@shape
def a_static_method_of_a_local_class(ctx: Context, items: Any, seen: list[str]) -> None:
    class Reservation:
        @staticmethod
        def undo(undo: Undo) -> None:
            release(item)

        @classmethod
        def back(cls, undo: Undo) -> None:
            cls.undo(undo)

    for number, item in enumerate(items):
        ctx.step("reserve", reserve, rollback=Reservation.undo if number % 2 else Reservation.back)


@shape
def from_a_table_of_functions(ctx: Context, items: Any, seen: list[str]) -> None:
    ways = {"release": [lambda: release(item)]}
    for item in items:
        ctx.step("reserve", reserve, rollback=lambda undo: ways["release"][0]())


@shape
def an_attribute_of_an_object(ctx: Context, items: Any, seen: list[str]) -> None:
    holder = Traced(lambda undo: release(item))
    for item in items:
        ctx.step("reserve", reserve, rollback=lambda undo: holder.function(undo))


@shape
def asynchronous(ctx: Context, items: Any, seen: list[str]) -> None:
    async def undo_it() -> None:
        await asyncio.sleep(0)
        release(item)

    for item in items:

        @logged
        async def undo(undo: Undo) -> None:
            await undo_it()
            await asyncio.sleep(0)

        ctx.step("reserve", reserve, rollback=undo)


@shape
def in_a_comprehension(ctx: Context, items: Any, seen: list[str]) -> None:
    [ctx.step("reserve", reserve, rollback=plainly(lambda undo: release(item))) for item in items]


@shape
def cached(ctx: Context, items: Any, seen: list[str]) -> None:
    for item in items:
        ctx.step("reserve", reserve, rollback=functools.lru_cache(lambda undo: release(item)))


@shape
def in_a_context_manager(ctx: Context, items: Any, seen: list[str]) -> None:
    @contextmanager
    def named() -> Any:
        yield item

    def undo(undo: Undo) -> None:
        with named() as name:
            release(name)

    for item in items:
        ctx.step("reserve", reserve, rollback=undo)


@shape
def with_several_variables(ctx: Context, items: Any, seen: list[str]) -> None:
    number = 0
    for item in items:
        number += 1
        label = f"{number}"

        def undo_it(suffix: str) -> None:
            assert suffix == f"{'abc'.index(item) + 1}"
            release(item)

        ctx.step("reserve", reserve, rollback=logged(lambda undo: undo_it(label)))
    number = -1
    label = "no more"


@shape
def of_a_helper_that_takes_steps(ctx: Context, items: Any, seen: list[str]) -> None:
    current = ""

    def undo(undo: Undo) -> None:
        release(current)

    def take(name: str) -> None:
        nonlocal current
        current = name
        ctx.step("reserve", reserve, rollback=functools.partial(undo))

    for item in items:
        take(item)


@pytest.mark.parametrize("steps", [1, 20])
@pytest.mark.parametrize("loop", SHAPES, ids=lambda loop: loop.__name__)
def test_each_rollback_undoes_its_own_item(loop: Shape, steps: int) -> None:
    released.clear()

    @workflow
    def order(ctx: Context, items: list[str]) -> None:
        loop(ctx, items, [])
        raise ValueError("sold out")

    with Harness(workflows=[order], steps_per_invocation=steps) as durable:
        execution = durable.start(order, ["a", "b", "c"])
        durable.run()

        assert (execution.status, execution.rollback.outcome) == ("failed", "completed")
        assert released == ["c", "b", "a"]


@pytest.mark.rule("R8")
def test_a_rollback_that_is_retried_sees_the_same_at_every_attempt() -> None:
    seen: list[tuple[str, int]] = []

    @workflow
    def order(ctx: Context) -> None:
        for item in "ab":

            @logged
            def undo(undo: Undo) -> None:
                seen.append((item, undo.attempt))
                if undo.attempt == 1:
                    raise OSError("no line")

            ctx.step("reserve", reserve, rollback=undo, rollback_retry=Retry(2, backoff_base=0.01))
        item = "changed"
        raise ValueError("sold out")

    with Harness(workflows=[order], steps_per_invocation=9) as durable:
        durable.start(order)
        durable.run()

        assert seen == [("b", 1), ("b", 2), ("a", 1), ("a", 2)]


def test_what_a_rollback_assigns_is_seen_by_the_ones_after_it() -> None:
    seen: list[tuple[str, int]] = []

    @workflow
    def order(ctx: Context) -> None:
        count = 0

        def counted() -> int:
            nonlocal count
            count += 1
            return count

        for item in "abc":
            ctx.step("reserve", reserve, rollback=logged(lambda undo: seen.append((item, counted()))))
        raise ValueError("sold out")

    with Harness(workflows=[order], steps_per_invocation=9) as durable:
        durable.start(order)
        durable.run()

        assert seen == [("c", 1), ("b", 2), ("a", 3)]


def test_executions_of_one_workflow_do_not_see_each_other_s_variables() -> None:
    seen: list[str] = []
    shared = "as it was"

    def tell(name: str) -> None:
        seen.append(f"{name} {shared}")

    @workflow
    def order(ctx: Context, name: str) -> None:
        ctx.step("reserve", reserve, rollback=logged(lambda undo: tell(name)))
        raise ValueError("sold out")

    with Harness(workflows=[order]) as durable:
        for name in ("one", "two"):
            durable.start(order, name)
            durable.run()
            shared = f"changed after {name}"

    assert (seen, shared) == (["one as it was", "two changed after one"], "changed after two")


# --- a rollback that names its own step's result --------------------------------------------------------------------


def assigned(ctx: Context, name: str) -> None:
    hold = ctx.step("hold", reserve, rollback=lambda undo: release(hold))


def annotated(ctx: Context, name: str) -> None:
    hold: str = ctx.step("hold", reserve, rollback=lambda undo: release(hold))


def tried(ctx: Context, name: str) -> None:
    hold = ctx.try_step("hold", reserve, rollback=lambda undo: release(hold.value))


def its_value(ctx: Context, name: str) -> None:
    hold = ctx.try_step("hold", reserve, rollback=lambda undo: release(hold)).value


def its_item(ctx: Context, name: str) -> None:
    hold = ctx.step("hold", reserve, rollback=lambda undo: release(hold))[0]


def its_method(ctx: Context, name: str) -> None:
    hold = ctx.step("hold", reserve, rollback=lambda undo: release(hold)).upper().strip("x")


def unpacked(ctx: Context, name: str) -> None:
    first, *hold = ctx.step("hold", reserve, rollback=lambda undo: release(hold[0]))


def unpacked_deeper(ctx: Context, name: str) -> None:
    first, (second, hold) = ctx.step("hold", reserve, rollback=lambda undo: release(hold))


def chained(ctx: Context, name: str) -> None:
    first = hold = ctx.step("hold", reserve, rollback=lambda undo: release(hold))


def in_an_expression(ctx: Context, name: str) -> None:
    if (hold := ctx.step("hold", reserve, rollback=lambda undo: release(hold))) == "hold":
        pass


def or_else(ctx: Context, name: str) -> None:
    hold = ctx.step("hold", reserve, rollback=lambda undo: release(hold)) or "nothing"


def only_if(ctx: Context, name: str) -> None:
    hold = ctx.step("hold", reserve, rollback=lambda undo: release(hold)) if name else "nothing"


def decorated_too(ctx: Context, name: str) -> None:
    hold = ctx.step("hold", reserve, rollback=logged(plainly(lambda undo: release(hold))))


def partial_too(ctx: Context, name: str) -> None:
    hold = ctx.step("hold", reserve, rollback=functools.partial(lambda undo: release(hold)))


def through_a_local_function(ctx: Context, name: str) -> None:
    def undo_it() -> None:
        release(hold)

    hold = ctx.step("hold", reserve, rollback=lambda undo: undo_it())


def through_a_method(ctx: Context, name: str) -> None:
    class Reservation:
        def undo(self, undo: Undo) -> None:
            release(hold)

    hold = ctx.step("hold", reserve, rollback=Reservation().undo)


def with_arguments(ctx: Context, name: str) -> None:
    hold = ctx.step("hold", reserve, name, rollback=lambda undo, name: release(hold), retry=Retry(1), timeout=5)


def over_several_lines(ctx: Context, name: str) -> None:
    hold = ctx.step(
        "hold",
        reserve,
        name,
        rollback=lambda undo, name: release(
            hold,
        ),
    )


def of_the_function_around(ctx: Context, name: str) -> None:
    hold = ""

    def take() -> None:
        nonlocal hold
        hold = ctx.step("hold", reserve, rollback=lambda undo: release(hold))

    take()


def through_a_helper(ctx: Context, name: str) -> None:
    def held(rollback: Any) -> Any:
        return ctx.step("hold", reserve, rollback=rollback)

    hold = held(lambda undo: release(hold))


def through_two_helpers(ctx: Context, name: str) -> None:
    def held(ctx: Context, **options: Any) -> Any:
        return ctx.try_step("hold", reserve, **options).value

    take = lambda **options: held(ctx, **options)  # noqa: E731
    hold = take(rollback=logged(lambda undo: release(hold)))


MISTAKES = [
    assigned,
    annotated,
    tried,
    its_value,
    its_item,
    its_method,
    unpacked,
    unpacked_deeper,
    chained,
    in_an_expression,
    or_else,
    only_if,
    decorated_too,
    partial_too,
    through_a_local_function,
    through_a_method,
    with_arguments,
    over_several_lines,
    of_the_function_around,
    through_a_helper,
    through_two_helpers,
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.__name__)
def test_a_rollback_that_names_the_result_of_its_own_step_is_refused_at_the_call(
    mistake: Callable[[Context, str], None],
) -> None:
    refusals: list[str] = []

    @workflow
    def order(ctx: Context) -> None:
        for name in ("1A", "1B"):
            try:
                mistake(ctx, name)
            except InvalidCall as refusal:
                refusals.append(str(refusal))
        ctx.step("after", reserve)

    with Harness(workflows=[order], steps_per_invocation=5) as durable:
        execution = durable.start(order)
        durable.run()

        message = (
            "its rollback uses the variable 'hold', which is assigned the step's own result after the call: the rollback "
            "would see what was there before. Use undo.output in the rollback."
        )
        assert (execution.status, durable.faults.bodies) == ("completed", ["after"])
        assert refusals == [f"step 'hold': {message}", f"step 'hold#2': {message}"]


def renamed(ctx: Context, name: str) -> None:
    hold = name
    held = ctx.step("hold", reserve, rollback=lambda undo: release(hold))
    assert held


def by_default(ctx: Context, name: str) -> None:
    hold = name
    hold = ctx.step("hold", reserve, rollback=lambda undo, hold=hold: release(hold))


def of_another_function(ctx: Context, name: str) -> None:
    def make(hold: str) -> Callable[[Undo], None]:
        return lambda undo: release(hold)

    hold = ctx.step("hold", reserve, rollback=make(name))
    assert hold


def of_what_was_before(ctx: Context, name: str) -> None:
    holds: list[str] = [name]
    holds = [*holds, ctx.step("hold", reserve, rollback=lambda undo: release(holds[-1]))]


def added_to_what_was_before(ctx: Context, name: str) -> None:
    hold = name
    hold += ctx.step("hold", reserve, rollback=lambda undo: release(hold))


def assigned_in_the_next_line(ctx: Context, name: str) -> None:
    hold = name
    ctx.step("hold", reserve, rollback=lambda undo: release(hold))
    hold = "later"


def assigned_if_it_went_well(ctx: Context, name: str) -> None:
    hold = name
    if ctx.step("hold", reserve, rollback=lambda undo: release(hold)):
        hold = "later"


def kept_in_a_list(ctx: Context, name: str) -> None:
    hold = [name]
    hold[0:0] = [ctx.step("hold", reserve, rollback=lambda undo: release(hold[-1]))]


def through_a_helper_that_is_none(ctx: Context, name: str) -> None:
    hold = name

    def held(rollback: Any) -> Any:
        ctx.step("hold", reserve, rollback=rollback)
        return "something else"

    hold = held(lambda undo: release(hold))


GOOD = [
    renamed,
    by_default,
    of_another_function,
    of_what_was_before,
    added_to_what_was_before,
    assigned_in_the_next_line,
    assigned_if_it_went_well,
    kept_in_a_list,
    through_a_helper_that_is_none,
]


@pytest.mark.parametrize("good", GOOD, ids=lambda good: good.__name__)
def test_one_that_only_looks_like_it_is_not_refused(good: Callable[[Context, str], None]) -> None:
    released.clear()

    @workflow
    def order(ctx: Context) -> None:
        for name in ("1A", "1B"):
            good(ctx, name)
        raise ValueError("sold out")

    with Harness(workflows=[order], steps_per_invocation=5) as durable:
        execution = durable.start(order)
        durable.run()

        assert (execution.status, execution.error.type) == ("failed", "ValueError")
        assert released == ["1B", "1A"]

"""Every attempt of a body and every rollback gets the arguments as they were at the call of the step.

What a body does to them reaches neither the next attempt nor the rollback nor the workflow, in one invocation or in many.
What the codec can't encode is passed as it is.
"""

from __future__ import annotations

import copy
import itertools
import threading
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, StrEnum
from functools import partial
from pathlib import PurePosixPath
from types import SimpleNamespace
from typing import Any, NamedTuple
from uuid import UUID

import pytest

from durable import Break, Context, Continue, Retry, Step, TerminalError, Undo
from durable.testing import Harness
from tests.scenarios.code import Code

pytestmark = pytest.mark.rule("S16")

AT_ONCE = Retry(3, backoff_base=0.1, jitter=False)  # waited for in place: the attempts are of one invocation
LATER = Retry(3, backoff_base=60, jitter=False)
each_mode = pytest.mark.parametrize("steps", [1, 20])
each_retry = pytest.mark.parametrize("retry", [AT_ONCE, LATER], ids=["at once", "later"])


@dataclass
class Line:
    sku: str
    tags: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Slotted:
    sku: str


def set_key(line: Any, sku: str) -> None:
    line["sku"] = sku


def set_attribute(line: Any, sku: str) -> None:
    line.sku = sku


def set_item(line: Any, sku: str) -> None:
    line[:] = [sku]


def set_nested(line: Any, sku: str) -> None:
    line["lines"][0]["tags"][0] = sku


def set_tag(line: Any, sku: str) -> None:
    line.tags[:] = [sku]


def set_in_a_tuple(line: Any, sku: str) -> None:
    line[0][0] = sku


CHANGING: dict[str, tuple[Callable[[], object], Callable[[Any, str], None]]] = {
    "a dict": (lambda: {"sku": ""}, set_key),
    "an ordered dict": (lambda: OrderedDict(sku=""), set_key),
    "a list": (lambda: [""], set_item),
    "a dataclass": (lambda: Line(""), set_attribute),
    "a dataclass with slots": (lambda: Slotted(""), set_attribute),
    "a list in a dataclass": (lambda: Line("", [""]), set_tag),
    "what is nested": (lambda: {"lines": [{"tags": [""]}]}, set_nested),
    "a list in a tuple": (lambda: ([""],), set_in_a_tuple),
}
each_changing = pytest.mark.parametrize(("make", "change"), CHANGING.values(), ids=CHANGING.keys())


def made(make: Callable[[], Any], change: Callable[[Any, str], None], sku: str) -> Any:
    """The value after a change."""
    line = make()
    change(line, sku)
    return line


# --- the workflow changes what it has passed -------------------------------------------------------------------------------


@each_mode
@each_changing
@pytest.mark.rule("R9", "D13")
def test_each_rollback_gets_what_its_step_was_given_though_the_workflow_changes_it_later(
    make: Callable[[], Any], change: Callable[[Any, str], None], steps: int
) -> None:
    undone: list[Any] = []
    reserved: list[Any] = []

    def reserve(step: Step, line: Any) -> str:
        reserved.append(copy.deepcopy(line))
        return step.path

    def release(undo: Undo[str], line: Any) -> None:
        undone.append(copy.deepcopy(line))

    def order(ctx: Context) -> None:
        line = make()
        for sku in ("pen", "ink", "cap"):
            change(line, sku)
            ctx.step("reserve", reserve, line, rollback=release)
        change(line, "changed after the last")
        raise ValueError("sold out")

    code = Code(order)
    with Harness(workflows=[code.workflow], steps_per_invocation=steps) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert (execution.status, execution.rollback.outcome) == ("failed", "completed")
        assert reserved == [made(make, change, sku) for sku in ("pen", "ink", "cap")]
        assert undone == [made(make, change, sku) for sku in ("cap", "ink", "pen")]


@each_mode
@pytest.mark.rule("R15")
def test_a_loop_that_changes_its_state_in_place_rolls_back_what_each_turn_passed(steps: int) -> None:
    undone: list[list[int]] = []

    def turn(ctx: Context, seen: list[int]) -> Continue[list[int]] | Break[None]:
        seen.append(len(seen))
        ctx.step("charge", lambda step, seen: None, seen, rollback=lambda undo, seen: undone.append(list(seen)))
        seen.append(-len(seen))
        if len(seen) > 5:
            raise ValueError("sold out")
        return Continue(seen)

    begin: list[int] = []
    code = Code(lambda ctx: ctx.loop("turns", turn, state=begin))
    with Harness(workflows=[code.workflow], steps_per_invocation=steps) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert (execution.status, undone) == ("failed", [[0, -1, 2, -3, 4], [0, -1, 2], [0]])


# --- a body changes what it was given --------------------------------------------------------------------------------------


@each_retry
@each_mode
@each_changing
def test_a_body_that_changes_its_argument_and_fails_gets_it_again_as_it_was(
    make: Callable[[], Any], change: Callable[[Any, str], None], steps: int, retry: Retry
) -> None:
    seen: list[Any] = []

    def reserve(step: Step, line: Any) -> int:
        seen.append(copy.deepcopy(line))
        change(line, f"attempt {step.attempt}")
        if step.attempt < 3:
            raise ConnectionError("no line")
        return step.attempt

    undone: list[Any] = []

    def order(ctx: Context) -> None:
        line = made(make, change, "pen")
        ctx.step("reserve", reserve, line, retry=retry, rollback=lambda undo, line: undone.append(line))
        ctx.step("check", lambda step, line: seen.append(copy.deepcopy(line)), line)
        seen.append(line)
        raise ValueError("sold out")

    code = Code(order)
    with Harness(workflows=[code.workflow], steps_per_invocation=steps) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        pen = made(make, change, "pen")
        assert (execution.status, undone) == ("failed", [pen])
        assert seen[:4] == [pen] * 4, "three attempts, and the step after them"
        assert all(each == pen for each in seen[4:]), "what the workflow's own code sees"


@each_retry
def test_a_body_that_pops_from_its_argument_can_be_tried_again(retry: Retry) -> None:
    def charge(step: Step, order: dict[str, Any]) -> str:
        card = order.pop("card")
        if step.attempt == 1:
            raise ConnectionError("no line")
        return str(card)

    code = Code(lambda ctx: ctx.step("charge", charge, {"card": "4711"}, retry=retry))
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert (execution.status, execution.output) == ("completed", "4711")


@each_mode
def test_what_a_body_adds_to_a_list_is_not_in_the_list_of_the_workflow(steps: int) -> None:
    def order(ctx: Context) -> list[str]:
        basket = ["pen"]
        ctx.step("add", lambda step, basket: basket.append("ink"), basket)
        ctx.step("add", lambda step, basket: basket.append("cap"), basket)
        return basket

    code = Code(order)
    with Harness(workflows=[code.workflow], steps_per_invocation=steps) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert (execution.status, execution.output) == ("completed", ["pen"])


@each_mode
def test_what_an_async_body_a_check_or_a_tried_step_does_to_its_argument_stays_there_too(steps: int) -> None:
    async def add(step: Step, basket: list[str]) -> None:
        basket.append("ink")

    def check(step: Step, basket: list[str]) -> int | None:
        basket.append("cap")
        return len(basket) if "[1]" in step.path else None

    def refuse(step: Step, basket: list[str]) -> None:
        basket.clear()
        raise TerminalError("no")

    def order(ctx: Context) -> tuple[list[str], int]:
        basket = ["pen"]
        ctx.step("add", add, basket)
        found = ctx.wait_for("it", check, basket, every=60)
        ctx.try_step("refuse", refuse, basket)
        return basket, found

    code = Code(order)
    with Harness(workflows=[code.workflow], steps_per_invocation=steps) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert (execution.status, execution.output) == ("completed", (["pen"], 2))


@each_mode
@pytest.mark.rule("R8")
def test_a_rollback_that_changes_its_argument_and_fails_gets_it_again_as_it_was(steps: int) -> None:
    seen: list[list[str]] = []

    def release(undo: Undo[None], basket: list[str]) -> None:
        seen.append(list(basket))
        basket.pop()
        if undo.attempt < 3:
            raise ConnectionError("no line")

    def order(ctx: Context) -> None:
        basket = ["pen"]
        for name in ("first", "second"):
            ctx.step(name, lambda step, basket: None, basket, rollback=release, rollback_retry=AT_ONCE)
        raise ValueError("sold out")

    code = Code(order)
    with Harness(workflows=[code.workflow], steps_per_invocation=steps) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert (execution.rollback.outcome, seen) == ("completed", [["pen"]] * 6)


# --- after crashes and deploys ---------------------------------------------------------------------------------------------


def no_such_key(step: Step, line: dict[str, Any]) -> None:
    raise KeyError(step.path)


@each_mode
@pytest.mark.rule("R8", "R9")
@pytest.mark.parametrize("deploy", [False, True])
def test_rollbacks_get_what_their_steps_were_given_after_crashes_and_a_deploy(deploy: bool, steps: int) -> None:
    undone: list[tuple[str, dict[str, Any]]] = []

    def reserve(step: Step, line: dict[str, Any]) -> str:
        line["reserved"] = True
        return step.path

    def release(undo: Undo[str], line: dict[str, Any]) -> None:
        undone.append((undo.path, dict(line)))
        line.clear()

    def order(ctx: Context) -> None:
        line: dict[str, Any] = {}
        for sku in ("pen", "ink"):
            line["sku"] = sku
            ctx.step(sku, reserve, line, rollback=release)
        line["sku"] = "cap"
        ctx.sleep("pause", 60)
        ctx.step("fails", no_such_key, line, retry=Retry(0))

    def mended(ctx: Context) -> None:
        """Deployed in the middle of the rollback: the same steps, in other words."""
        for sku in ("pen", "ink"):
            ctx.step(sku, reserve, {"sku": sku}, rollback=release)
        ctx.sleep("pause", 60)
        ctx.step("fails", no_such_key, {"sku": "cap"}, retry=Retry(0))

    code = Code(order)
    with Harness(workflows=[code.workflow], steps_per_invocation=steps) as durable:
        execution = durable.start(code.workflow)

        def strike() -> None:
            code.deployed = mended if deploy else order
            durable.faults.die()

        durable.faults.in_body(2, durable.faults.die)  # of ink, forward
        durable.faults.in_body(5, strike)  # of ink, in its rollback
        durable.run()

        assert (execution.status, execution.rollback.outcome) == ("failed", "completed")
        assert undone == [("ink", {"sku": "ink"}), ("pen", {"sku": "pen"})]


# --- what arguments are ----------------------------------------------------------------------------------------------------


class Point(NamedTuple):
    x: int
    tags: list[str]


class Color(Enum):
    RED = "red"


class Size(StrEnum):
    SMALL = "s"


class Cart(dict[str, int]):
    """A dict of the user's own."""


class Money(Decimal):
    """A Decimal of the user's own."""


class Plain:
    def __init__(self, sku: str) -> None:
        self.sku = sku

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plain) and other.sku == self.sku

    def __hash__(self) -> int:
        return hash(self.sku)


def local_class() -> object:
    @dataclass
    class Local:
        sku: str

    return Local("pen")


def with_default() -> object:
    found: defaultdict[str, list[str]] = defaultdict(list)
    found["pen"].append("blue")
    return found


VALUES: dict[str, Callable[[], object]] = {
    "None": lambda: None,
    "a bool": lambda: True,
    "an int": lambda: 10**40,
    "a float": lambda: -0.0,
    "a text": lambda: "pen",
    "bytes": lambda: b"pen",
    "a bytearray": lambda: bytearray(b"pen"),
    "a list": lambda: [1, [2, (3,)]],
    "a tuple": lambda: (1, [2]),
    "a set": lambda: {1, 2},
    "a frozenset": lambda: frozenset({1, 2}),
    "a dict": lambda: {1: "one", ("a", "b"): None},
    "a dict with a default": with_default,
    "an ordered dict": lambda: OrderedDict(a=1),
    "a counter": lambda: Counter("pen"),
    "a deque": lambda: deque([1, 2], maxlen=3),
    "a dict of the user's": lambda: Cart(pen=1),
    "a Decimal of the user's": lambda: Money("1.50"),
    "a named tuple": lambda: Point(1, ["a"]),
    "an enum": lambda: Color.RED,
    "a text enum": lambda: Size.SMALL,
    "a Decimal": lambda: Decimal("1.50"),
    "a date": lambda: date(2030, 1, 1),
    "a moment": lambda: datetime(2030, 1, 1, tzinfo=UTC),
    "a duration": lambda: timedelta(days=1),
    "a UUID": lambda: UUID(int=7),
    "a path": lambda: PurePosixPath("/pen"),
    "a dataclass": lambda: Line("pen", ["blue"]),
    "a dataclass with slots": lambda: Slotted("pen"),
    "a dataclass of a function's own": local_class,
    "a namespace": lambda: SimpleNamespace(sku="pen"),
    "a plain object": lambda: Plain("pen"),
    "a lambda": lambda: lambda: "pen",
    "a class": lambda: Plain,
    "a method": lambda: Plain("pen").__eq__,
    "a lock": threading.Lock,
    "a list with a lock": lambda: ["pen", threading.Lock()],
}


@each_mode
@pytest.mark.parametrize("make", VALUES.values(), ids=VALUES.keys())
def test_a_body_and_a_rollback_get_a_value_of_the_type_that_was_passed(make: Callable[[], Any], steps: int) -> None:
    passed: list[object] = []
    got: list[object] = []

    def order(ctx: Context) -> None:
        value = make()
        passed.append(value)
        ctx.step(
            "reserve", lambda step, value: got.append(value), value, rollback=lambda undo, value: got.append(value)
        )
        raise ValueError("sold out")

    code = Code(order)
    with Harness(workflows=[code.workflow], steps_per_invocation=steps) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert (execution.status, execution.error.type, execution.rollback.outcome) == (
            "failed",
            "ValueError",
            "completed",
        )
        assert [type(each).__qualname__ for each in got] == [type(passed[0]).__qualname__] * 2
        assert all(any(same(each, value) for value in passed) for each in got)


def same(value: Any, other: Any) -> bool:
    """Whether they are equal, or, of things that are only equal to themselves, look the same."""
    if value == other:
        return True
    return vars(value) == vars(other) if hasattr(value, "__dict__") and vars(value) else value is other


@each_mode
@pytest.mark.parametrize("wrap", [lambda client: client, lambda client: {"client": client}])
def test_what_can_not_be_encoded_is_passed_as_it_is(wrap: Callable[[Any], Any], steps: int) -> None:
    class Client:
        def __init__(self) -> None:
            self.lock = threading.Lock()
            self.calls = 0

    client = Client()
    got: list[Any] = []

    def use(step: Step, given: Any) -> None:
        got.append(given)
        if step.attempt == 1:
            raise ConnectionError("no line")

    def order(ctx: Context) -> None:
        ctx.step("use", use, wrap(client), retry=AT_ONCE, rollback=lambda undo, given: got.append(given))
        raise ValueError("sold out")

    code = Code(order)
    with Harness(workflows=[code.workflow], steps_per_invocation=steps) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert (execution.status, execution.rollback.outcome) == ("failed", "completed")
        assert [each is client or each["client"] is client for each in got] == [True] * 3


ITERATORS: dict[str, Callable[[], Any]] = {
    "an iterator": lambda: iter(["pen", "ink"]),
    "a generator": lambda: (sku for sku in ("pen", "ink")),
    "a map": lambda: map(str, ["pen", "ink"]),
    "a zip": lambda: zip("ab", "cd", strict=True),
    "a reversed list": lambda: reversed(["pen", "ink"]),
    "the keys of a dict": lambda: iter({"pen": 1}),
}


@each_mode
@pytest.mark.parametrize("make", ITERATORS.values(), ids=ITERATORS.keys())
def test_every_attempt_and_every_rollback_gets_all_the_items_of_an_iterator(
    make: Callable[[], Any], steps: int
) -> None:
    got: list[list[Any]] = []

    def use(step: Step, items: Any) -> None:
        got.append(list(items))
        if step.attempt < 3:
            raise ConnectionError("no line")

    def order(ctx: Context) -> None:
        ctx.step("use", use, make(), retry=AT_ONCE, rollback=lambda undo, items: got.append(list(items)))
        raise ValueError("sold out")

    code = Code(order)
    with Harness(workflows=[code.workflow], steps_per_invocation=steps) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert (execution.status, execution.rollback.outcome, got) == ("failed", "completed", [list(make())] * 4)


@each_mode
def test_an_iterator_that_two_steps_read_from_is_empty_for_the_second_at_every_replay(steps: int) -> None:
    got: list[list[Any]] = []

    def order(ctx: Context) -> None:
        items = iter(["pen", "ink"])
        for name in ("first", "second"):
            ctx.step(name, lambda step, items: got.append(list(items)), items)
        ctx.sleep("pause", 60)
        ctx.step("third", lambda step, items: got.append(list(items)), items)

    code = Code(order)
    with Harness(workflows=[code.workflow], steps_per_invocation=steps) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert (execution.status, got) == ("completed", [["pen", "ink"], [], []])


def test_an_iterator_without_end_is_refused_at_the_call() -> None:
    def order(ctx: Context) -> None:
        ctx.step("use", lambda step, items: None, itertools.count())

    code = Code(order)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert (execution.status, execution.error.type, durable.faults.bodies) == ("failed", "InvalidCall", [])


# --- arguments that are bound to the function ------------------------------------------------------------------------------


@each_mode
@pytest.mark.parametrize("named", [False, True])
def test_the_arguments_of_a_partial_are_arguments_too(named: bool, steps: int) -> None:
    seen: list[str] = []

    def bound(function: Callable[..., Any], line: dict[str, str]) -> Callable[..., Any]:
        return partial(function, line=line) if named else partial(function, line)

    def order(ctx: Context) -> None:
        line = {"sku": ""}
        for sku in ("pen", "ink"):
            line["sku"] = sku
            ctx.step(
                "reserve",
                bound(reserve_named if named else reserve, line),
                retry=AT_ONCE,
                rollback=bound(release_named if named else release, line),
            )
        raise ValueError("sold out")

    def reserve(line: dict[str, str], step: Step) -> None:
        seen.append(line.pop("sku"))
        if step.attempt == 1:
            raise ConnectionError("no line")

    def release(line: dict[str, str], undo: Undo[None]) -> None:
        seen.append(f"undo {line['sku']}")

    def reserve_named(step: Step, line: dict[str, str]) -> None:
        reserve(line, step)

    def release_named(undo: Undo[None], line: dict[str, str]) -> None:
        release(line, undo)

    code = Code(order)
    with Harness(workflows=[code.workflow], steps_per_invocation=steps) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert (execution.status, execution.rollback.outcome) == ("failed", "completed")
        assert seen == ["pen", "pen", "ink", "ink", "undo ink", "undo pen"]


@dataclass
class Basket:
    sku: str
    seen: str = ""

    def reserve(self, step: Step) -> str:
        sku, self.sku = self.sku, "used up"
        if step.attempt == 1:
            raise ConnectionError("no line")
        return sku

    def release(self, undo: Undo[str]) -> None:
        released.append((self.sku, undo.output))


released: list[tuple[str, str | None]] = []


@each_mode
def test_the_object_of_a_method_is_an_argument_too(steps: int) -> None:
    released.clear()

    def order(ctx: Context) -> None:
        basket = Basket("")
        for sku in ("pen", "ink"):
            basket.sku = sku
            ctx.step("reserve", basket.reserve, retry=AT_ONCE, rollback=basket.release)
        raise ValueError("sold out")

    code = Code(order)
    with Harness(workflows=[code.workflow], steps_per_invocation=steps) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert (execution.status, released) == ("failed", [("ink", "ink"), ("pen", "pen")])


# --- blocks and loops: what they are given is the workflow's own --------------------------------------------------------------


@each_mode
def test_a_block_shares_its_arguments_with_the_workflow_as_a_function_does(steps: int) -> None:
    def block(ctx: Context, basket: list[str]) -> None:
        basket.append(ctx.step("find", lambda step: "ink"))

    def order(ctx: Context) -> list[str]:
        basket = ["pen"]
        ctx.try_block("block", block, basket)
        ctx.sleep("pause", 60)
        return basket

    code = Code(order)
    with Harness(workflows=[code.workflow], steps_per_invocation=steps) as durable:
        execution = durable.start(code.workflow)
        durable.run()

        assert (execution.status, execution.output) == ("completed", ["pen", "ink"])

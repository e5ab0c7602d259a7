"""Recorded data that the code of today can't read is a divergence, in both directions, and never a failure of the workflow.

The execution is at rest, both sides are named, nothing runs and no `except Exception` sees it; once a deploy has brought the
class back, it is resumed, and goes on or is rolled back as if nothing had happened.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from types import ModuleType
from typing import Any

import pytest

from durable import Break, Context, Continue, Step, StepFailed, Undo, workflow
from durable.testing import Harness

pytestmark = pytest.mark.rule("D6", "R16")


class Catalogue:
    """The module of the user's classes, as it is deployed."""

    def __init__(self) -> None:
        self.module = ModuleType("catalogue")

    def put(self, cls: type, name: str, *sample: object) -> None:
        cls.sample = lambda: cls(*sample)
        cls.__module__ = "catalogue"
        cls.__name__ = cls.__qualname__ = name
        setattr(self.module, name, cls)

    def first(self) -> None:
        """What is deployed when the execution begins."""

        @dataclass
        class Receipt:
            id: str
            amount: int

        vars(self.module).pop("Invoice", None)
        self.put(Receipt, "Receipt", "r-1", 7)

    @property
    def current(self) -> Any:
        """The class that the code uses."""
        return getattr(self.module, "Invoice", None) or self.module.Receipt

    def make(self) -> Any:
        return self.current.sample()

    # --- deploys ---

    def retyped(self) -> None:
        @dataclass
        class Receipt:
            id: str
            amount: date

        self.put(Receipt, "Receipt", "r-1", date(2030, 1, 1))

    def extended(self) -> None:
        @dataclass
        class Receipt:
            id: str
            amount: int
            currency: str

        self.put(Receipt, "Receipt", "r-1", 7, "EUR")

    def renamed(self) -> None:
        @dataclass
        class Invoice:
            number: int
            currency: str

        del self.module.Receipt
        self.put(Invoice, "Invoice", 7, "EUR")

    def no_class_any_more(self) -> None:
        self.renamed()
        self.module.Receipt = 404


catalogue = Catalogue()
ran: list[str] = []
caught: list[str] = []


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(sys.modules, "catalogue", catalogue.module)
    ran.clear()
    caught.clear()
    catalogue.first()
    yield
    for name in ("Receipt", "Invoice"):
        vars(catalogue.module).pop(name, None)


def note(step: Step[Any]) -> str:
    ran.append(step.path)
    return step.path


def undo(undo: Undo[Any, Any]) -> None:
    ran.append(f"undo {undo.path}")


def make(step: Step[Any]) -> Any:
    ran.append(step.path)
    return catalogue.make()


# --- what is recorded, each under the name `it` ------------------------------------------------------------------------------


def result(ctx: Context) -> Any:
    return ctx.step("it", make, returns=catalogue.current, rollback=undo)


def result_without_type(ctx: Context) -> Any:
    return ctx.step("it", make, rollback=undo)


def result_in_a_list(ctx: Context) -> Any:
    return ctx.step("it", lambda step: {"all": [catalogue.make()]}, returns=dict[str, list[catalogue.current]])


def tried_result(ctx: Context) -> Any:
    return ctx.try_step("it", make, returns=catalogue.current, catch=["critical", "exhausted", "rollback"])


def message(ctx: Context) -> Any:
    return ctx.queue.next("it", "inbox", body=catalogue.current).body


def message_without_type(ctx: Context) -> Any:
    return ctx.queue.next("it", "inbox").body


def messages(ctx: Context) -> Any:
    return [each.body for each in ctx.queue.next_batch("it", "inbox", body=catalogue.current)]


def loop_state(ctx: Context) -> Any:
    def turn(ctx: Context, state: Any) -> Continue[Any] | Break[Any]:
        if ctx.step("turn", note) == "it[1]/turn":
            ctx.sleep("in the loop", 60)
            return Break(state.amount)
        return Continue(catalogue.make())

    turn.__annotations__ = {"state": catalogue.current}
    return ctx.loop("it", turn, state=catalogue.make(), prune_every=1)


def loop_result(ctx: Context) -> Any:
    def turn(ctx: Context) -> Any:
        return Break(catalogue.make())

    return ctx.loop("it", turn)


def waited_for(ctx: Context) -> Any:
    def check(step: Step) -> Any:
        ran.append(step.path)
        return catalogue.make()

    return ctx.wait_for("it", check, every=60)


def in_a_block(ctx: Context) -> Any:
    return ctx.try_block("block", result, catch=["critical", "exhausted", "timeout", "rollback"])


RECORDED: dict[str, tuple[Callable[[Context], Any], str]] = {
    "the result of a step": (result, "it"),
    "the result of a step without type": (result_without_type, "it"),
    "a list of results": (result_in_a_list, "it"),
    "the result of a tried step": (tried_result, "it"),
    "the result of a step in a block": (in_a_block, "block/it"),
    "a message": (message, "it"),
    "a message without type": (message_without_type, "it"),
    "a batch": (messages, "it"),
    "the state of a loop": (loop_state, "it"),
    "what a loop broke with": (loop_result, "it"),
    "what was waited for": (waited_for, "it"),
}
DEPLOYS = [Catalogue.retyped, Catalogue.extended, Catalogue.renamed, Catalogue.no_class_any_more]
# What is stored by its own type, for the code says none, is given back with the fields that it had.
TYPED = {"the result of a step", "a list of results", "the result of a tried step", "the result of a step in a block"}
TYPED |= {"the state of a loop"}
each_record_and_deploy = pytest.mark.parametrize(
    ("read", "path", "deploy"),
    [
        pytest.param(*record, deploy, id=f"{name}-{deploy.__name__}")
        for name, record in RECORDED.items()
        for deploy in DEPLOYS
        if name in TYPED or deploy is not Catalogue.retyped
    ],
)
each_deploy = pytest.mark.parametrize("deploy", DEPLOYS)


def saga(read: Callable[[Context], Any]) -> Any:
    """Reserve, read what is recorded, wait for a minute, ship; every error that the code could catch is noted."""

    @workflow(name="order")
    def order(ctx: Context) -> str:
        ctx.step("reserve", note, rollback=undo)
        try:
            read(ctx)
        except Exception as error:
            caught.append(repr(error))
        ctx.sleep("pause", 60)
        return ctx.step("ship", note, rollback=undo)

    return order


@each_record_and_deploy
def test_it_is_a_divergence_and_goes_on_when_the_class_is_back(
    read: Callable[[Context], Any], path: str, deploy: Callable[[Catalogue], None]
) -> None:
    order = saga(read)
    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        execution.send("inbox", catalogue.make())
        durable.run(duration=30)
        before = list(ran)

        deploy(catalogue)
        durable.restart_processes()
        durable.run()
        assert (execution.status, execution.error.type, caught, ran) == ("diverged", "HistoryDiverged", [], before)
        assert (execution.error.details["path"], durable.messages(None)) == (path, [])
        assert "the code now has a type that can't read it" in execution.error.message

        catalogue.first()
        durable.restart_processes()
        execution.resume()
        durable.run()
        assert (execution.status, execution.output, caught) == ("completed", "ship", [])
        assert (ran[: len(before)], ran[-1]) == (before, "ship")


@each_record_and_deploy
def test_it_is_a_divergence_in_the_rollback_too(
    read: Callable[[Context], Any], path: str, deploy: Callable[[Catalogue], None]
) -> None:
    order = saga(read)
    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        execution.send("inbox", catalogue.make())
        durable.run(duration=30)
        before = list(ran)

        deploy(catalogue)
        durable.restart_processes()
        execution.cancel()
        durable.run()
        assert (execution.status, execution.error.type, caught, ran) == ("diverged", "HistoryDiverged", [], before)
        assert (execution.error.details["path"], durable.messages(None)) == (path, [])

        catalogue.first()
        durable.restart_processes()
        execution.resume()
        durable.run()
        undone = [f"undo {path}"] if read in (result, result_without_type, in_a_block) else []
        assert (execution.status, execution.rollback.outcome, caught) == ("cancelled", "completed", [])
        assert ran == [*before, *undone, "undo reserve"]


@each_deploy
@pytest.mark.parametrize(("seconds", "cancelled"), [(0, False), (30, False), (30, True)])
def test_an_input_that_can_not_be_read_any_more_is_a_divergence(
    deploy: Callable[[Catalogue], None], cancelled: bool, seconds: int
) -> None:
    """Before the first step has run as well as after it."""

    def code() -> Any:
        def order(ctx: Context, given: Any) -> str:
            ctx.step("reserve", note, rollback=undo)
            ctx.sleep("pause", 60)
            return ctx.step("ship", note, rollback=undo)

        order.__annotations__["given"] = catalogue.current
        return workflow(name="order")(order)

    first = code()
    with Harness(workflows=[first]) as durable:
        execution = durable.start(first, catalogue.make())
        if seconds:
            durable.run(duration=seconds)
        before = list(ran)

        deploy(catalogue)
        durable.deploy([code()])
        if cancelled:
            execution.cancel()
        durable.run()
        assert (execution.status, execution.error.type, ran) == ("diverged", "HistoryDiverged", before)
        assert durable.messages(None) == []

        catalogue.first()
        durable.deploy([code()])
        execution.resume()
        durable.run()
        undone = [f"undo {path}" for path in before]
        assert (execution.status, ran) == (
            ("cancelled", [*before, *undone]) if cancelled else ("completed", ["reserve", "ship"])
        )


@each_deploy
@pytest.mark.rule("S8")
@pytest.mark.parametrize("cancelled", [False, True])
def test_a_state_that_can_not_be_read_any_more_is_a_divergence(
    deploy: Callable[[Catalogue], None], cancelled: bool
) -> None:
    """It is found by the body that reads the document, whose own code does not see it."""

    def fill(step: Step[Any]) -> str:
        step.state.amount += 1
        return note(step)

    def look(step: Step[Any] | Undo[Any, Any]) -> None:
        try:
            ran.append(f"{step.path} sees {step.state.amount}")
        except Exception as error:
            caught.append(repr(error))

    def code() -> Any:
        factory = catalogue.current

        def first_state() -> Any:
            return factory.sample()

        first_state.__annotations__["return"] = factory

        @workflow(name="order", state=first_state)
        def order(ctx: Context[Any]) -> None:
            ctx.step("fill", fill, rollback=look)
            ctx.sleep("pause", 60)
            ctx.step("look", look)

        return order

    first = code()
    with Harness(workflows=[first]) as durable:
        execution = durable.start(first)
        durable.run(duration=30)

        deploy(catalogue)
        durable.deploy([code()])
        if cancelled:
            execution.cancel()
        durable.run()
        assert (execution.status, execution.error.type, caught) == ("diverged", "HistoryDiverged", [])
        assert (ran, durable.messages(None)) == (["fill"], [])

        catalogue.first()
        durable.deploy([code()])
        execution.resume()
        durable.run()
        assert (execution.status, ran[1:], caught) == (
            ("cancelled", ["fill sees 8"], []) if cancelled else ("completed", ["look sees 8"], [])
        )


@pytest.mark.rule("R12")
def test_a_diverged_execution_can_be_cancelled_without_its_rollback() -> None:
    order = saga(result)
    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run(duration=30)
        catalogue.extended()
        durable.run()
        assert execution.status == "diverged"

        execution.cancel(rollback=False)
        durable.run()

        assert (execution.status, ran) == ("cancelled", ["reserve", "it"])


@pytest.mark.rule("Q7")
def test_a_message_that_never_fitted_is_refused_the_same_at_every_replay() -> None:
    """That is no divergence: the sender is at fault, and the code was told when it took the message."""
    seen: list[str] = []

    @workflow(name="order")
    def order(ctx: Context) -> str:
        try:
            ctx.queue.next("it", "inbox", body=catalogue.current)
        except Exception as error:
            seen.append(type(error).__name__)
        ctx.sleep("pause", 60)
        return ctx.step("ship", note)

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        execution.send("inbox", {"id": 7})
        durable.run()

        assert (execution.status, set(seen)) == ("completed", {"InvalidInput"})


def test_what_a_failed_step_recorded_can_always_be_read() -> None:
    """Errors are data: they need no class."""

    @workflow(name="order")
    def order(ctx: Context) -> str:
        class Gone(Exception):
            pass

        def fail(step: Step) -> Any:
            raise type("Declined", (Gone,), {})("no")

        fail.__annotations__["return"] = catalogue.current
        try:
            ctx.step("it", fail)
        except StepFailed as error:
            caught.append(error.error.type)
        ctx.sleep("pause", 60)
        return ctx.step("ship", note)

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run(duration=30)
        catalogue.renamed()
        durable.run()

        assert (execution.status, set(caught)) == ("completed", {"Declined"})

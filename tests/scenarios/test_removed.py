"""`ctx.removed` stands in for an operation that the code no longer has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from durable import Break, Context, InvalidCall, Undo
from durable.testing import Harness
from tests.scenarios.code import Code

pytestmark = pytest.mark.rule("D7")

NAME = "a/b[1]#2"  # a name in which the separators of paths are


def count_to(turns: int) -> Callable[[Context], Break[int] | None]:
    def turn(ctx: Context) -> Break[int] | None:
        number = ctx.step("turn", lambda step: int(step.path.split("[")[-1].split("]")[0]))
        return Break(number) if number == turns - 1 else None

    return turn


def answered(ctx: Context, name: str) -> None:
    message = ctx.queue.next(name, "questions", completable=True)
    message.complete("yes")


OLD: list[tuple[str, Callable[[Context, str], Any]]] = [
    ("step", lambda ctx, name: ctx.step(name, lambda step: "done")),
    ("sleep", lambda ctx, name: ctx.sleep(name, 60)),
    ("queue", lambda ctx, name: ctx.queue.next_batch(name, "questions", timeout=5)),
    ("queue", answered),
    ("loop", lambda ctx, name: ctx.loop(name, count_to(3))),
    ("loop", lambda ctx, name: ctx.loop(name, count_to(5), prune_every=2, keep=1)),
    ("wait_for", lambda ctx, name: ctx.wait_for(name, lambda step: "there" if step.path[-8] == "2" else None, every=9)),
    ("block", lambda ctx, name: ctx.try_block(name, lambda ctx: ctx.step("inner", lambda step: "done"))),
    ("version", lambda ctx, name: ctx.version(name, 3)),
    ("checkpoint", lambda ctx, name: ctx.rollback_checkpoint(name)),
]


@pytest.mark.parametrize(("kind", "operation"), OLD)
def test_an_execution_that_recorded_it_goes_on_without_and_a_new_one_does_not_miss_it(
    kind: str, operation: Callable[[Context, str], Any]
) -> None:
    def old(ctx: Context) -> str:
        ctx.step("first", lambda step: None)
        operation(ctx, NAME)
        ctx.sleep("pause", 600)
        return "old"

    def new(ctx: Context) -> str:
        ctx.step("first", lambda step: None)
        ctx.removed(NAME, kind)
        ctx.sleep("pause", 600)
        return ctx.step("last", lambda step: "new")

    code = Code(old)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        execution.send("questions", "really?")
        durable.run(duration=300)
        assert execution.status == "waiting"
        bodies = list(durable.faults.bodies)

        code.deployed = new
        fresh = durable.start(code.workflow)
        durable.run()

        assert (execution.status, execution.output) == ("completed", "new")
        assert (fresh.status, fresh.output, [entry.path for entry in fresh.history]) == (
            "completed",
            "new",
            ["first", "pause", "last"],
        )
        assert durable.faults.bodies == [*bodies, "first", "last", "last"]


def test_it_holds_the_place_of_a_name_that_is_used_again() -> None:
    def old(ctx: Context) -> list[str]:
        paths = [ctx.step("embed", lambda step: step.path) for _ in range(3)]
        ctx.sleep("pause", 60)
        return paths

    def new(ctx: Context) -> list[str]:
        ctx.removed("embed", "step")
        paths = [ctx.step("embed", lambda step: step.path) for _ in range(2)]
        ctx.sleep("pause", 60)
        return paths

    code = Code(old)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run(duration=30)
        code.deployed = new
        fresh = durable.start(code.workflow)
        durable.run()

        assert execution.output == fresh.output == ["embed#2", "embed#3"]
        assert durable.faults.bodies.count("embed") == 1


@pytest.mark.rule("D6")
def test_something_else_in_its_place_is_a_divergence_that_names_both() -> None:
    def old(ctx: Context) -> None:
        ctx.step("gone", lambda step: None)
        ctx.sleep("pause", 60)

    def new(ctx: Context) -> None:
        ctx.removed("gone", "sleep")
        ctx.sleep("pause", 60)

    code = Code(old)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        durable.run(duration=30)
        code.deployed = new
        durable.run()

        assert (execution.status, execution.error.details) == (
            "diverged",
            {"path": "gone", "recorded": "a step", "requested": "a removed sleep"},
        )


undone: list[str] = []


@pytest.fixture(autouse=True)
def _fresh() -> None:
    undone.clear()


def undo(undo: Undo) -> None:
    undone.append(undo.path)


def charges(charge: Callable[[Context], object], fails: bool = True) -> Callable[[Context], str]:
    """Code that charges, in this way, between two steps with rollbacks; it sleeps for a minute before it ends."""

    def code(ctx: Context) -> str:
        ctx.step("before", lambda step: None, rollback=undo)
        charge(ctx)
        ctx.step("after", lambda step: None, rollback=undo)
        ctx.sleep("pause", 60)
        if fails:
            raise ValueError("later")
        return "well"

    return code


def charge(ctx: Context) -> None:
    ctx.step("charge", lambda step: None, rollback=undo)


def no_charge(ctx: Context) -> None:
    ctx.removed("charge", "step")


def asleep(durable: Harness, code: Code) -> Any:
    """An execution that has charged, and whose code is then deployed anew."""
    execution = durable.start(code.workflow)
    durable.run(duration=30)
    assert execution.status == "waiting"
    return execution


@pytest.mark.rule("R2")
def test_a_step_with_a_rollback_is_not_missed_while_all_goes_well() -> None:
    code = Code(charges(charge, fails=False))
    with Harness(workflows=[code.workflow]) as durable:
        execution = asleep(durable, code)
        code.deployed = charges(no_charge, fails=False)
        durable.run()

        assert (execution.status, execution.output, undone) == ("completed", "well", [])


@pytest.mark.rule("D6", "R16")
@pytest.mark.parametrize("end", ["fails", "is cancelled"])
@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        (charge, no_charge, "charge"),
        (
            lambda ctx: ctx.try_block("block", charge),
            lambda ctx: ctx.removed("block", "block"),
            "block/charge",
        ),
        (
            lambda ctx: ctx.loop("turns", lambda ctx: charge(ctx) or Break()),
            lambda ctx: ctx.removed("turns", "loop"),
            "turns[0]/charge",
        ),
    ],
    ids=["step", "block", "loop"],
)
def test_a_compensation_that_was_removed_with_its_step_is_missed_and_nothing_is_rolled_back_without_it(
    old: Callable[[Context], object], new: Callable[[Context], object], path: str, end: str
) -> None:
    code = Code(charges(old))
    with Harness(workflows=[code.workflow]) as durable:
        execution = asleep(durable, code)
        code.deployed = charges(new)
        if end == "is cancelled":
            execution.cancel()
        durable.run()
        assert (execution.status, execution.error.details["path"], undone) == ("diverged", path, [])
        assert execution.error.message == (
            f"the history of this execution has a step '{path}' with a rollback at '{path}'; the code now has no such step, "
            "or no rollback for it. Rollbacks are not stored: put the step and its rollback back, behind ctx.version for new "
            "executions to do without, until none that ran it is under way; then resume this one. Or cancel it without its "
            "rollback."
        )

        code.deployed = charges(old)
        execution.resume()
        durable.run()
        assert execution.status == ("failed" if end == "fails" else "cancelled")
        assert undone == ["after", path, "before"]


@pytest.mark.rule("R12")
@pytest.mark.parametrize(("diverged", "status"), [(False, "cancelled"), (True, "failed")])
def test_an_execution_whose_compensation_was_removed_can_be_ended_without_its_rollback(
    diverged: bool, status: str
) -> None:
    code = Code(charges(charge))
    with Harness(workflows=[code.workflow]) as durable:
        execution = asleep(durable, code)
        code.deployed = charges(no_charge)
        if diverged:
            durable.run()
            assert execution.status == "diverged"
        execution.cancel(rollback=False)
        durable.run()

        assert (execution.status, execution.rollback.outcome, undone) == (status, "none", [])


@pytest.mark.rule("R4")
def test_behind_a_gate_the_step_stays_for_those_that_ran_it_and_new_ones_do_without() -> None:
    def charge_as_it_was(ctx: Context) -> None:
        if ctx.version("without charge", 2) == 1:
            charge(ctx)

    code = Code(charges(charge))
    with Harness(workflows=[code.workflow]) as durable:
        execution = asleep(durable, code)
        code.deployed = charges(charge_as_it_was)
        durable.run()
        assert (execution.status, undone) == ("failed", ["after", "charge", "before"])

        undone.clear()
        fresh = durable.start(code.workflow)
        durable.run()
        assert (fresh.status, undone) == ("failed", ["after", "before"])


@pytest.mark.rule("R14")
def test_a_compensation_behind_a_boundary_is_not_missed() -> None:
    def settled(ctx: Context) -> None:
        charge(ctx)
        ctx.rollback_checkpoint("settled")

    def removed(ctx: Context) -> None:
        no_charge(ctx)
        ctx.rollback_checkpoint("settled")

    code = Code(charges(settled))
    with Harness(workflows=[code.workflow]) as durable:
        execution = asleep(durable, code)
        code.deployed = charges(removed)
        durable.run()

        assert (execution.status, execution.rollback.outcome, undone) == ("failed", "completed", ["after"])


@pytest.mark.rule("R8", "R16")
def test_a_compensation_that_has_run_is_not_missed_by_the_rest_of_the_rollback() -> None:
    code = Code(charges(charge))
    with Harness(workflows=[code.workflow]) as durable:
        execution = asleep(durable, code)
        durable.faults.in_body(2, lambda: setattr(code, "deployed", charges(no_charge)), path="charge")
        execution.cancel()
        durable.run()

        assert (execution.status, execution.rollback.outcome) == ("cancelled", "completed")
        assert durable.faults.bodies == ["before", "charge", "after", "after", "charge", "before"]


@pytest.mark.parametrize("kind", ["steps", "", None, "rollback"])
def test_a_kind_that_does_not_exist_is_refused_at_the_call(kind: Any) -> None:
    def code(ctx: Context) -> str:
        try:
            ctx.removed("gone", kind)
        except InvalidCall as error:
            return str(error)
        return "taken"

    deployed = Code(code)
    with Harness(workflows=[deployed.workflow]) as durable:
        execution = durable.start(deployed.workflow)
        durable.run()

        assert execution.output.startswith("removed 'gone': kind is one of block, checkpoint, loop, queue,")

"""`a; any operation; b`, and the process dies in b: the rollback finds b, and then a, whatever stands between them.

b may have begun, so it is rolled back as unfinished; a deploy or another death in between changes nothing. What the code
had passed without a record of its own is passed again by the replay that collects the rollbacks, with the same values.
All but the first test run on the local store: there are many cases, and it takes a tenth of the time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from durable import Break, Context, Execution, Step, TerminalError, Undo
from durable.testing import Harness
from tests.scenarios.code import Code
from tests.scenarios.operations import OPERATIONS, Operation

pytestmark = pytest.mark.rule("R18", "R4", "R5", "R8")

DAY = 86_400
WRITES = ("UpdateItem", "TransactWriteItems")
each_operation = pytest.mark.parametrize("operation", OPERATIONS, ids=str)


@dataclass
class Order:
    """The workflow `a; operation; b`, and what its bodies and rollbacks saw."""

    operation: Operation
    place: str = ""  # the scope of the operation and b, as a path; a is at the root
    fails: bool = False  # b, when it does not die
    at_b: list[Callable[[], object]] = field(default_factory=list)  # what happens in b, each once, its first run first
    given: dict[str, object] = field(default_factory=dict)  # what a body was given, by its path
    undone: dict[str, tuple[str, str]] = field(default_factory=dict)  # path and status, by idempotency key
    wrong: list[str] = field(default_factory=list)

    def body(self, step: Step, given: object) -> str:
        self.compare(step.path, given)
        if step.path == f"{self.place}b":
            if self.at_b:
                self.at_b.pop(0)()
            if self.fails:
                raise TerminalError("the order can't be kept")
        return step.path

    def undo(self, undo: Undo[str], given: object = None) -> None:
        self.undone.setdefault(undo.idempotency_key, (undo.path, undo.status))
        if undo.path in self.given:
            self.compare(undo.path, given)

    def compare(self, path: str, given: object) -> None:
        first = self.given.setdefault(path, given)
        if first != given:
            self.wrong.append(f"{path} got {given!r} after {first!r}")

    def at_the_root(self, ctx: Context) -> None:
        ctx.step("a", self.body, "first", rollback=self.undo)
        self.rest(ctx)

    def rest(self, ctx: Context) -> None:
        ctx.step("b", self.body, self.operation.run(ctx, self.undo), rollback=self.undo)

    def in_a_block(self, ctx: Context) -> None:
        ctx.step("a", self.body, "first", rollback=self.undo)
        ctx.try_block("block", self.rest, catch=[])

    def in_a_loop(self, ctx: Context) -> None:
        ctx.step("a", self.body, "first", rollback=self.undo)
        ctx.loop("loop", lambda ctx: Break(self.rest(ctx)))

    def mended(self, ctx: Context) -> None:
        """The code after a deploy: b has another body and another rollback function, and a step follows it."""
        ctx.step("a", self.body, "first", rollback=self.undo)
        given = self.operation.run(ctx, self.undo)
        ctx.step("b", lambda step, given: "mended", given, rollback=self.mended_undo)
        ctx.step("c", self.body, "third", rollback=self.undo)

    def mended_undo(self, undo: Undo[str], given: object) -> None:
        self.undo(undo, given)

    def begin(self, durable: Harness, code: Code) -> Execution[Any, Any]:
        """Start an execution, and send it what it waits for."""
        execution = durable.start(code.workflow)
        self.operation.prepare(execution)
        return execution

    def outcome(self, execution: Execution[Any, Any]) -> tuple[object, ...]:
        """All that a test looks at, as one value."""
        return (execution.status, execution.rollback.outcome, list(self.undone.values()), self.wrong)

    def expected(self, status: str, of_b: str) -> tuple[object, ...]:
        """The outcome: everything is rolled back, the last started first."""
        own = [(f"{self.place}{path}", ended) for path, ended in self.operation.undone]
        chain = [(f"{self.place}b", of_b), *own, *([] if self.operation.commits else [("a", "completed")])]
        return (status, "completed", chain, [])


@each_operation
@pytest.mark.parametrize("steps", [1, 20])
def test_a_cancel_rolls_back_what_may_have_begun_and_all_that_began_before(operation: Operation, steps: int) -> None:
    order = Order(operation)
    code = Code(order.at_the_root)
    with Harness(workflows=[code.workflow], steps_per_invocation=steps) as durable:
        execution = order.begin(durable, code)
        order.at_b += [lambda: (execution.cancel(), durable.faults.die())]
        durable.run()

        assert order.outcome(execution) == order.expected("cancelled", "unfinished")


@each_operation
@pytest.mark.parametrize(("nth", "steps"), [(1, 1), (2, 1), (2, 20)])
def test_a_rollback_that_dies_in_one_of_its_bodies_comes_to_the_same_end(
    operation: Operation, nth: int, steps: int
) -> None:
    order = Order(operation)
    code = Code(order.at_the_root)
    with Harness(workflows=[code.workflow], store="local", steps_per_invocation=steps) as durable:
        execution = order.begin(durable, code)

        def cancel_and_die() -> None:
            execution.cancel()
            durable.faults.in_body(nth, durable.faults.die)
            durable.faults.die()

        order.at_b += [cancel_and_die]
        durable.run()

        assert order.outcome(execution) == order.expected("cancelled", "unfinished")


@each_operation
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_rollback_that_dies_at_its_first_record_comes_to_the_same_end(operation: Operation, moment: str) -> None:
    order = Order(operation)
    code = Code(order.at_the_root)
    with Harness(workflows=[code.workflow], store="local") as durable:
        execution = order.begin(durable, code)

        def cancel_and_die() -> None:
            execution.cancel()
            getattr(durable.faults, moment)(2, durable.faults.die, by="Worker", operation=WRITES)  # 1 is the claim
            durable.faults.die()

        order.at_b += [cancel_and_die]
        durable.run()

        assert order.outcome(execution) == order.expected("cancelled", "unfinished")


@each_operation
@pytest.mark.rule("D6")
@pytest.mark.parametrize("when", ["before the rollback", "in its middle"])
def test_a_deploy_before_or_in_the_rollback_comes_to_the_same_end(operation: Operation, when: str) -> None:
    order = Order(operation)
    code = Code(order.at_the_root)
    with Harness(workflows=[code.workflow], store="local") as durable:
        execution = order.begin(durable, code)

        def deploy() -> None:
            code.deployed = order.mended
            durable.deploy([code.workflow])

        def cancel_and_die() -> None:
            execution.cancel()
            if when == "before the rollback":
                deploy()
            else:
                durable.faults.in_body(1, deploy)  # as b is rolled back: the rest of the chain is run by the new code
            durable.faults.die()

        order.at_b += [cancel_and_die]
        durable.run()

        assert order.outcome(execution) == order.expected("cancelled", "unfinished")


@each_operation
@pytest.mark.rule("R3")
def test_an_execution_that_fails_by_itself_after_the_crash_is_rolled_back_the_same(operation: Operation) -> None:
    order = Order(operation, fails=True)
    code = Code(order.at_the_root)
    with Harness(workflows=[code.workflow], store="local") as durable:
        execution = order.begin(durable, code)
        order.at_b += [durable.faults.die]
        durable.run()

        assert order.outcome(execution) == order.expected("failed", "failed")


@each_operation
@pytest.mark.rule("R3", "S4")
def test_an_execution_whose_step_kills_every_process_is_rolled_back_the_same(operation: Operation) -> None:
    order = Order(operation)
    code = Code(order.at_the_root)
    with Harness(workflows=[code.workflow], store="local", steps_per_invocation=20) as durable:
        execution = order.begin(durable, code)
        order.at_b += [durable.faults.die] * 5  # the first death is free, and the step has four attempts
        durable.run()

        assert order.outcome(execution) == order.expected("failed", "failed")


@each_operation
@pytest.mark.rule("R13")
def test_an_execution_whose_time_is_over_after_the_crash_is_rolled_back_the_same(operation: Operation) -> None:
    order = Order(operation)
    code = Code(order.at_the_root, timeout=DAY)
    with Harness(workflows=[code.workflow], store="local") as durable:
        execution = order.begin(durable, code)
        order.at_b += [lambda: (durable.clock.advance(DAY), durable.faults.die())]
        durable.run()

        assert order.outcome(execution) == order.expected("failed", "unfinished")


@each_operation
@pytest.mark.rule("R6")
@pytest.mark.parametrize("place", ["block/", "loop[0]/"])
def test_the_same_holds_where_the_operation_stands_in_a_block_or_a_loop(operation: Operation, place: str) -> None:
    order = Order(operation, place)
    code = Code(order.in_a_block if place == "block/" else order.in_a_loop)
    with Harness(workflows=[code.workflow], store="local") as durable:
        execution = order.begin(durable, code)

        def cancel_and_die() -> None:
            execution.cancel()
            durable.faults.in_body(2, durable.faults.die)
            durable.faults.die()

        order.at_b += [cancel_and_die]
        durable.run()

        assert order.outcome(execution) == order.expected("cancelled", "unfinished")


@each_operation
@pytest.mark.rule("E3")
@pytest.mark.parametrize(("moment", "steps"), [("before", 1), ("after", 1), ("after", 20)])
def test_an_operation_that_dies_as_it_is_recorded_is_rolled_back_the_same(
    operation: Operation, moment: str, steps: int
) -> None:
    """The process dies at each write in turn that follows the body of a; then it dies in b, and is cancelled."""
    for nth in range(1, 100):
        order = Order(operation)
        code = Code(order.at_the_root)
        with Harness(workflows=[code.workflow], store="local", steps_per_invocation=steps) as durable:
            execution = order.begin(durable, code)
            struck: list[int] = []

            def strike() -> None:
                if "b" not in order.given:
                    struck.append(nth)
                    durable.faults.die()

            def plan() -> None:
                getattr(durable.faults, moment)(nth, strike, by="Worker", operation=WRITES)

            durable.faults.in_body(1, plan, path="a")
            order.at_b += [lambda: (execution.cancel(), durable.faults.die())]
            durable.run()

            assert (nth, order.outcome(execution)) == (nth, order.expected("cancelled", "unfinished"))
        if not struck:
            return

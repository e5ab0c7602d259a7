"""`step.vars`: a scratch that lives as long as the warm process."""

from __future__ import annotations

import pytest

from durable import Context, Step, workflow
from durable.testing import Harness

pytestmark = pytest.mark.rule("S9")


def count(step: Step) -> int:
    step.vars["count"] = step.vars.get("count", 0) + 1
    return step.vars["count"]


def test_it_is_kept_while_the_process_is_warm_and_gone_after_a_cold_start() -> None:
    @workflow
    def order(ctx: Context) -> list[int]:
        return [ctx.step("count", count) for _ in range(4)]

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.deliver_once()
        durable.deliver_once()
        durable.restart_processes()
        durable.run()

        assert execution.output == [1, 2, 1, 2]


def test_no_execution_sees_another_s() -> None:
    @workflow
    def order(ctx: Context) -> int:
        return ctx.step("count", count)

    with Harness(workflows=[order]) as durable:
        executions = [durable.start(order) for _ in range(3)]
        durable.run()

        assert [execution.output for execution in executions] == [1, 1, 1]

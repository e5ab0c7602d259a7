"""Rollbacks that fail: they are tried again, harder than steps; then the chain halts, or goes on (R1, R8, R10, R11)."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from durable import Context, ErrorInfo, Retry, Step, TerminalError, Undo, workflow
from durable.runtime.client.history_view import RollbackOutcome
from durable.testing import Harness
from tests.scenarios import table

ran: list[str] = []
moments: list[int] = []
clock: list[Any] = []
ORIGINAL = ErrorInfo("TerminalError", "the original failure", {"step": "fails", "kind": "critical", "attempts": 1})


def note(step: Step) -> str:
    return step.path


def refuse(step: Step) -> None:
    raise TerminalError("the original failure")


def undo(step: Undo[str]) -> None:
    ran.append(step.path)


def stubborn(step: Undo[str]) -> None:
    ran.append(f"{step.path} {step.attempt}")
    moments.append(clock[0].now())
    raise ConnectionError("the bank is closed")


def hopeless(step: Undo[str]) -> None:
    ran.append(step.path)
    raise TerminalError("already paid out")


def steps(ctx: Context, rollback: Any, retry: Retry | None) -> None:
    ctx.step("first", note, rollback=undo)
    ctx.step("second", note, rollback=rollback, rollback_retry=retry)
    ctx.step("third", note, rollback=undo)
    ctx.step("fails", refuse)


@workflow
def halts(ctx: Context) -> None:
    steps(ctx, stubborn, Retry(2, backoff_base=60, backoff_max=600, jitter=False))


@workflow(on_rollback_failure="continue")
def goes_on(ctx: Context) -> None:
    steps(ctx, hopeless, None)


@workflow
def by_default(ctx: Context) -> None:
    steps(ctx, stubborn, None)


@workflow
def is_hopeless(ctx: Context) -> None:
    steps(ctx, hopeless, None)


@workflow(on_rollback_failure="continue")
def last_one_fails(ctx: Context) -> None:
    ctx.step("first", note, rollback=hopeless)
    ctx.step("second", note, rollback=undo)
    ctx.step("fails", refuse)


@workflow
def is_well(ctx: Context) -> None:
    steps(ctx, undo, None)


@pytest.fixture
def durable_workflows() -> list[object]:
    ran.clear()
    moments.clear()
    return [halts, goes_on, by_default, is_hopeless, last_one_fails, is_well]


def rollbacks(execution: Any) -> list[tuple[str, str, int]]:
    return [(e.path, e.status, e.attempts) for e in execution.history if e.kind == "rollback"]


@pytest.mark.rule("R10", "R11", "R8")
def test_the_chain_halts_at_a_rollback_that_failed_for_good(durable: Harness) -> None:
    clock[:] = [durable.clock]
    execution = durable.start(halts)
    durable.run()

    assert ran == ["third", "second 1", "second 2", "second 3"]
    assert [after - before for before, after in pairwise(moments)] == [60_000, 120_000]
    assert (execution.status, execution.error) == ("failed", ORIGINAL)
    closed = ErrorInfo("ConnectionError", "the bank is closed")
    assert execution.rollback == RollbackOutcome("failed", closed, not_run=["first"], failed={"second": closed})
    assert rollbacks(execution) == [("third", "completed", 1), ("second", "failed", 3)]
    assert durable.messages(None) == []


@pytest.mark.rule("R10")
@pytest.mark.durable(steps_per_invocation=10)
def test_the_chain_halts_within_an_invocation_too(durable: Harness) -> None:
    execution = durable.start(is_hopeless)
    durable.run()

    assert (ran, execution.rollback.outcome, execution.rollback.not_run) == (["third", "second"], "failed", ["first"])


@pytest.mark.rule("R10", "R11")
def test_the_chain_goes_on_where_the_workflow_says_so(durable: Harness) -> None:
    execution = durable.start(goes_on)
    durable.run()

    assert ran == ["third", "second", "first"]
    assert (execution.status, execution.error) == ("failed", ORIGINAL)
    paid_out = ErrorInfo("TerminalError", "already paid out")
    assert execution.rollback == RollbackOutcome("failed", paid_out, failed={"second": paid_out})
    assert rollbacks(execution) == [("third", "completed", 1), ("second", "failed", 1), ("first", "completed", 1)]


@pytest.mark.rule("R10", "S3")
def test_a_terminal_error_in_a_rollback_is_not_tried_again(durable: Harness) -> None:
    execution = durable.start(is_hopeless)
    durable.run()

    assert (ran, execution.rollback.outcome, execution.rollback.not_run) == (["third", "second"], "failed", ["first"])


@pytest.mark.rule("R10")
def test_a_last_rollback_that_fails_leaves_nothing_to_run_and_has_failed_all_the_same(durable: Harness) -> None:
    execution = durable.start(last_one_fails)
    durable.run()

    assert (ran, execution.status) == (["second", "first"], "failed")
    paid_out = ErrorInfo("TerminalError", "already paid out")
    assert execution.rollback == RollbackOutcome("failed", paid_out, failed={"first": paid_out})


def told(durable: Harness) -> list[tuple[str, str, dict[str, Any]]]:
    """The events that say that a rollback has failed: by whom, source, detail."""
    published = [
        (call.by, entry["Source"], json.loads(entry["Detail"]))
        for call in durable.calls
        if call.operation == "PutEvents" and call.error is None
        for entry in call.parameters["Entries"]
        if entry["DetailType"] == "rollback-failed"
    ]
    assert all(isinstance(detail.pop("id"), str) for _, _, detail in published)
    return published


@pytest.mark.rule("R10")
@pytest.mark.parametrize("code", [halts, goes_on, is_hopeless, last_one_fails], ids=lambda code: code.name)
def test_an_event_tells_of_it_once_whichever_way_the_chain_went_on(durable: Harness, code: Any) -> None:
    clock[:] = [durable.clock]
    execution = durable.start(code)
    durable.run(3600)
    durable.restart_processes()
    durable.run(7 * 86400)

    detail = {"status": "failed", "version": 1}
    event = {"execution": execution.id, "workflow": code.name, "detail": detail}
    assert told(durable) == [("TerminalFailure", "durable", event)]


@pytest.mark.rule("R10")
def test_the_event_comes_although_the_bus_was_out_of_reach_and_the_worker_died_after_its_last_write(
    durable: Harness,
) -> None:
    execution = durable.start(is_hopeless)
    while "third" not in ran:
        durable.deliver_once()
    durable.faults.after(2, durable.faults.die, by="Worker", operation="UpdateItem")
    durable.faults.before(1, durable.faults.refuse("InternalFailure"), operation="PutEvents", times=4)
    durable.run()

    assert (execution.status, ran) == ("failed", ["third", "second"])
    assert [event["execution"] for _, _, event in told(durable)] == [execution.id]


@pytest.mark.rule("R10")
def test_no_event_tells_of_one_that_went_well(durable: Harness) -> None:
    execution = durable.start(is_well)
    durable.run()

    assert (execution.status, execution.rollback.outcome, told(durable)) == ("failed", "completed", [])


@pytest.mark.rule("R1")
def test_a_rollback_is_tried_eleven_times_by_default(durable: Harness) -> None:
    """Ten retries, from a second up to five minutes, each at most half earlier for jitter."""
    clock[:] = [durable.clock]
    execution = durable.start(by_default)
    durable.run()

    waits = [(after - before) / 1000 for before, after in pairwise(moments)]
    assert (len(moments), execution.status, execution.rollback.outcome) == (11, "failed", "failed")
    longest = [min(300, 2**retry) for retry in range(10)]
    assert all(most / 2 <= wait <= most + 1 for wait, most in zip(waits, longest, strict=True))


@pytest.mark.rule("R8", "R12")
def test_a_rollback_that_waits_for_its_retry_is_not_hurried_by_a_second_cancel(durable: Harness) -> None:
    clock[:] = [durable.clock]
    execution = durable.start(halts)
    durable.run(duration=30)
    assert (execution.status, table.head(durable, execution.id).wake) == ("rolling_back", moments[0] + 60_000)

    execution.cancel()
    durable.run(duration=29)
    assert ran == ["third", "second 1"]
    durable.run()

    assert (execution.status, ran) == ("failed", ["third", "second 1", "second 2", "second 3"])


@pytest.mark.rule("R8")
def test_a_message_that_comes_while_a_rollback_waits_for_its_retry_does_not_hurry_it(durable: Harness) -> None:
    clock[:] = [durable.clock]
    execution = durable.start(halts)
    durable.run(duration=30)

    execution.send("anything", 1)
    durable.run(duration=29)
    assert ran == ["third", "second 1"]
    durable.run()

    assert (execution.status, ran) == ("failed", ["third", "second 1", "second 2", "second 3"])
    assert [after - before for before, after in pairwise(moments)] == [60_000, 120_000]

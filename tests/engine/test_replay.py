"""One replay: what it answers from the history, what it asks for, and that nothing of it is raised into user code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from durable import Context, Step, codec, workflow
from durable.api.calls import Drift
from durable.engine.entries import InputEntry, StepEntry, with_value
from durable.engine.history import History
from durable.engine.outcomes import Diverged, Done, Failed, Parked, Ready
from durable.engine.recorded import EntryStatus
from durable.engine.replay import Replay, Settings

CHARGED = with_value(
    StepEntry(
        path="charge",
        status=EntryStatus.COMPLETED,
        order=1,
        attempts=1,
        ended=5,
        fingerprint=codec.fingerprint([1]) or "",
    ),
    codec.encode("charged", str),
)


def replay(
    code: Callable[[Context], Any], *entries: StepEntry, drift: Drift = "off", collecting: bool = False
) -> Replay:
    settings = Settings(
        execution_id="one",
        created=1,
        now=10,
        fields={},
        check=lambda stored, what: stored,
        drift=drift,
        collecting=collecting,
    )
    return Replay(workflow(name="one")(code), History([InputEntry(), *entries]), settings)


def charge(step: Step, amount: int) -> str:
    raise AssertionError("no body runs in a replay")


def once(ctx: Context) -> str:
    return ctx.step("charge", charge, 1)


def other_amount(ctx: Context) -> str:
    return ctx.step("charge", charge, 2)


@pytest.mark.rule("D2", "D6")
def test_a_recorded_step_is_answered_from_the_history() -> None:
    assert replay(once, CHARGED).advance(10) == Done("charged")
    assert replay(other_amount, CHARGED).advance(10) == Done("charged")


@pytest.mark.rule("D6")
def test_its_arguments_are_compared_when_drift_is_an_error() -> None:
    outcome = replay(other_amount, CHARGED, drift="error").advance(10)
    assert isinstance(outcome, Diverged)
    assert "a step called with other arguments at 'charge'; the code now has these: 2" in str(outcome.error)


@pytest.mark.rule("D1")
def test_a_step_without_a_record_is_ready_and_goes_on_with_what_it_is_settled_with() -> None:
    running = replay(once)
    ready = running.advance(10)
    assert isinstance(ready, Ready)
    assert (ready.call.path, ready.call.arguments, ready.entry.order) == ("charge", (1,), 1)
    running.settle(CHARGED)
    assert running.advance(11) == Done("charged")


@pytest.mark.rule("D9", "D14")
def test_what_breaks_in_the_library_is_raised_to_its_driver_and_not_into_the_code() -> None:
    seen: list[BaseException] = []

    def careful(ctx: Context) -> None:
        try:
            ctx.step("charge", charge, 1)
        except BaseException as error:
            seen.append(error)
            raise

    running = replay(careful, CHARGED)
    broken: Any = None
    running.history.root.entries["charge"] = broken  # what no history holds
    with pytest.raises(AttributeError):
        running.advance(10)
    assert seen == []
    assert running.close() is False
    assert [type(error).__name__ for error in seen] == ["Suspended"]


@pytest.mark.rule("D8")
def test_code_that_swallows_its_suspension_is_found_and_one_that_never_ends_is_left() -> None:
    def swallows(ctx: Context) -> None:
        try:
            ctx.step("charge", charge, 1)
        except BaseException:
            return

    def never_ends(ctx: Context) -> None:
        while True:
            try:
                ctx.step("charge", charge, 1)
            except BaseException:
                continue

    for code in (swallows, never_ends):
        running = replay(code)
        assert isinstance(running.advance(10), Ready)
        assert running.close() is True


@pytest.mark.rule("R17")
def test_whatever_the_code_raises_is_its_failure() -> None:
    class Panic(BaseException):
        pass

    def panics(ctx: Context) -> None:
        raise Panic

    def interrupted(ctx: Context) -> None:
        raise KeyboardInterrupt

    outcome = replay(panics).advance(10)
    assert isinstance(outcome, Failed)
    assert isinstance(outcome.error, Panic)
    with pytest.raises(KeyboardInterrupt):
        replay(interrupted).advance(10)


@pytest.mark.rule("Q4")
def test_a_sleep_parks_with_its_entry() -> None:
    outcome = replay(lambda ctx: ctx.sleep("pause", 2)).advance(100)
    assert isinstance(outcome, Parked)
    assert (outcome.until, outcome.entry is not None) == (2_100, True)


@pytest.mark.rule("R4", "R18")
def test_a_replay_that_collects_rollbacks_passes_what_may_pass_unrecorded_and_stops_at_the_rest() -> None:
    def pauses(ctx: Context) -> None:
        ctx.step("charge", charge, 1, rollback=lambda undo, amount: None)
        ctx.sleep("no time", 0)
        ctx.step("ship", charge, 2, rollback=lambda undo, amount: None)

    def gated(ctx: Context) -> None:
        ctx.step("charge", charge, 1, rollback=lambda undo, amount: None)
        ctx.version("faster", 2)
        ctx.step("ship", charge, 2, rollback=lambda undo, amount: None)

    found = []
    for code in (pauses, gated):
        running = replay(code, CHARGED, collecting=True)
        running.advance(10)
        running.close()
        found.append([undoable.call.path for undoable in running.undoables])
    assert found == [["charge", "ship"], ["charge"]]


@pytest.mark.rule("D12")
def test_what_finally_blocks_log_at_a_suspension_is_not_written(caplog: pytest.LogCaptureFixture) -> None:
    def tidy(ctx: Context) -> None:
        try:
            ctx.step("charge", charge, 1)
        finally:
            ctx.log.warning("leaving")

    running = replay(tidy)
    assert isinstance(running.advance(10), Ready)
    running.close()
    assert caplog.records == []

"""The exception that made the code leave its history is named: in the divergence and in the log.

After a deploy the code raises, or returns, before it has asked for all that is recorded. That is found forward and in the replay
of a rollback, nothing runs, and whoever reads of it learns which line to mend. To cancel it without its rollback is advised only
where a rollback function is gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from durable import Break, Context, Execution, Step, TerminalError, Undo
from durable.testing import Harness
from tests.scenarios.code import Code

pytestmark = pytest.mark.rule("D6", "R16")

WITHOUT = "ithout its rollback"
RATES: dict[str, int] = {}
ran: list[str] = []


@pytest.fixture(autouse=True)
def _fresh() -> None:
    ran.clear()


def note(step: Step, *rates: float) -> str:
    ran.append(step.path)
    return step.path


def undo(undo: Undo[str]) -> None:
    ran.append(f"undo {undo.path}")


def refuse(step: Step) -> None:
    ran.append(step.path)
    raise TerminalError("no")


def original(ctx: Context) -> str:
    ctx.step("first", note, rollback=undo)
    ctx.step("second", note)
    ctx.try_block("block", lambda ctx: ctx.step("third", note, rollback=undo))
    ctx.sleep("pause", 60)
    return ctx.step("fourth", note)


def raises(error: Callable[[], BaseException]) -> Callable[[Context], object]:
    """The code after a deploy: it raises before the second step."""

    def deployed(ctx: Context) -> None:
        ctx.step("first", note, rollback=undo)
        raise error()

    return deployed


def key_error(ctx: Context) -> None:
    ctx.step("first", note, rollback=undo)
    ctx.step("second", note, RATES["TAX_RATE"])


def zero_division(ctx: Context) -> None:
    ctx.step("first", note, rollback=undo)
    ctx.step("second", note, 7 // len(RATES))


def at_once(ctx: Context) -> None:
    RATES["TAX_RATE"]


def in_a_block(ctx: Context) -> None:
    ctx.step("first", note, rollback=undo)
    ctx.step("second", note)
    ctx.try_block("block", lambda ctx: RATES["TAX_RATE"])


def in_a_loop(ctx: Context) -> None:
    ctx.step("first", note, rollback=undo)
    ctx.loop("loop", lambda ctx: Break(RATES["TAX_RATE"]))


def caught_and_gone_on(ctx: Context) -> str:
    """The exception is caught, and the code goes another way."""
    ctx.step("first", note, rollback=undo)
    with suppress(KeyError):
        RATES["TAX_RATE"]
    return ctx.step("other", note)


def wrapped(ctx: Context) -> None:
    ctx.step("first", note, rollback=undo)
    try:
        RATES["TAX_RATE"]
    except KeyError as error:
        raise RuntimeError("the rates are incomplete") from error


def returns_early(ctx: Context) -> str:
    return ctx.step("first", note, rollback=undo)


def returns_at_once(ctx: Context) -> None:
    return None


RAISING = {
    "a KeyError": (key_error, "KeyError: 'TAX_RATE'"),
    "a division by zero": (zero_division, "ZeroDivisionError: "),
    "at once": (at_once, "KeyError: 'TAX_RATE'"),
    "in a block": (in_a_block, "KeyError: 'TAX_RATE'"),
    "in a loop": (in_a_loop, "KeyError: 'TAX_RATE'"),
    "wrapped": (wrapped, "RuntimeError: the rates are incomplete"),
    "a panic": (raises(lambda: type("Panic", (BaseException,), {})("gave up")), "Panic: gave up"),
    "cancelled": (raises(lambda: asyncio.CancelledError("by a library")), "CancelledError: by a library"),
    "an exit": (raises(lambda: SystemExit("bye")), "SystemExit: bye"),
    "a terminal error": (raises(lambda: TerminalError("not in this country")), "TerminalError: not in this country"),
    "a group": (raises(lambda: ExceptionGroup("several", [KeyError("TAX_RATE")])), "TAX_RATE"),
}
RETURNING = {"returns early": returns_early, "returns at once": returns_at_once, "another way": caught_and_gone_on}
each_raising = pytest.mark.parametrize(("deployed", "named"), RAISING.values(), ids=RAISING.keys())
each_direction = pytest.mark.parametrize("cancelled", [False, True], ids=["forward", "rollback"])
RECORDED = ["first", "second", "block/third"]


def diverged(durable: Harness, code: Code, deployed: Any, *, cancelled: bool) -> Execution[Any, Any]:
    """An execution whose code is replaced while it sleeps, and which then goes on, or is cancelled."""
    execution = durable.start(code.workflow)
    durable.run(duration=30)
    code.deployed = deployed
    if cancelled:
        execution.cancel()
    durable.run()
    assert (execution.status, execution.error.type) == ("diverged", "HistoryDiverged")
    assert (ran, durable.messages(None)) == (RECORDED, [])
    return execution


def mended(durable: Harness, code: Code, execution: Execution[Any, Any], *, cancelled: bool) -> None:
    """The first code is back: the execution ends as it should."""
    code.deployed = original
    execution.resume()
    durable.run()
    if cancelled:
        assert (execution.status, execution.rollback.outcome) == ("cancelled", "completed")
        assert ran == [*RECORDED, "undo block/third", "undo first"]
    else:
        assert (execution.status, ran) == ("completed", [*RECORDED, "fourth"])


@each_raising
@each_direction
def test_the_error_and_the_log_name_what_the_code_raised(
    deployed: Any, named: str, cancelled: bool, caplog: pytest.LogCaptureFixture
) -> None:
    code = Code(original)
    with Harness(workflows=[code.workflow]) as durable:
        execution = diverged(durable, code, deployed, cancelled=cancelled)

        assert named in execution.error.message
        assert WITHOUT not in execution.error.message
        errors = [record for record in caplog.records if record.levelname == "ERROR"]
        assert len(errors) == 1, "a divergence is logged once, as an error"
        (record,) = errors
        logged = caplog.text
        assert (named.partition(":")[0] in logged, record.exc_info is not None) == (True, True)
        assert "Traceback" in logged and __file__.rpartition("/")[2] in logged, "the line to mend"

        mended(durable, code, execution, cancelled=cancelled)


@pytest.mark.parametrize("deployed", RETURNING.values(), ids=RETURNING.keys())
@each_direction
def test_code_that_leaves_its_history_without_raising_is_found_too(deployed: Any, cancelled: bool) -> None:
    code = Code(original)
    with Harness(workflows=[code.workflow]) as durable:
        execution = diverged(durable, code, deployed, cancelled=cancelled)

        assert (WITHOUT in execution.error.message, "KeyError" in execution.error.message) == (False, False)
        assert {"path", "recorded", "requested"} <= execution.error.details.keys()

        mended(durable, code, execution, cancelled=cancelled)


@pytest.mark.rule("R3")
def test_a_failed_execution_whose_new_code_returns_early_is_not_rolled_back_by_it() -> None:
    """Also where every step that is left out has no rollback: the code is not the code that failed."""

    def fails(ctx: Context) -> None:
        ctx.step("first", note, rollback=undo)
        ctx.step("second", note)
        ctx.step("third", refuse)

    code = Code(fails)
    with Harness(workflows=[code.workflow]) as durable:
        execution = durable.start(code.workflow)
        for _ in range(4):
            durable.deliver_once()
        assert execution.status == "failing"
        code.deployed = returns_early
        durable.run()
        assert (execution.status, ran) == ("diverged", ["first", "second", "third"])
        assert execution.error.details["path"] == "second"

        code.deployed = fails
        execution.resume()
        durable.run()
        assert (execution.status, execution.error.message, ran[3:]) == ("failed", "no", ["undo first"])


# --- the advice ------------------------------------------------------------------------------------------------------------


def without_the_rollback(ctx: Context) -> None:
    ctx.step("first", note)
    original_rest(ctx)


def original_rest(ctx: Context) -> None:
    ctx.step("second", note)
    ctx.try_block("block", lambda ctx: ctx.step("third", note, rollback=undo))
    ctx.sleep("pause", 60)


def removed_step(ctx: Context) -> None:
    ctx.removed("first", "step")
    original_rest(ctx)


def renamed_step(ctx: Context) -> None:
    ctx.step("the first", note, rollback=undo)
    original_rest(ctx)


def other_kind(ctx: Context) -> None:
    ctx.sleep("first", 1)
    original_rest(ctx)


@pytest.mark.parametrize(
    ("deployed", "advised"),
    [
        (without_the_rollback, True),
        (removed_step, True),
        (renamed_step, False),
        (other_kind, False),
        (key_error, False),
        (returns_early, False),
    ],
)
def test_to_cancel_without_the_rollback_is_advised_only_where_a_rollback_function_is_gone(
    deployed: Any, advised: bool
) -> None:
    code = Code(original)
    with Harness(workflows=[code.workflow]) as durable:
        execution = diverged(durable, code, deployed, cancelled=True)

        assert (WITHOUT in execution.error.message) is advised

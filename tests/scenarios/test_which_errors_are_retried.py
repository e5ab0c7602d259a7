"""`Retry(only=...)` says which errors are retried; what is left out of a Retry is as usual."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from durable import Context, ErrorInfo, InvalidCall, Retry, Step, StepFailed, TerminalError, workflow
from durable.testing import Harness
from tests import hostile

pytestmark = pytest.mark.rule("S17")


class Declined(Exception):
    """The card was declined."""

    def __init__(self, code: str) -> None:
        self.code = code
        super().__init__(f"declined: {code}")


def code_is_busy(error: Declined) -> bool:
    return error.code == "busy"


def groups(*errors: BaseException) -> Callable[[], BaseException]:
    return lambda: BaseExceptionGroup("several", errors)


CASES: list[tuple[Any, Callable[[], BaseException], bool]] = [
    (ConnectionError, ConnectionResetError, True),
    (ConnectionError, ValueError, False),
    ((ConnectionError, TimeoutError), TimeoutError, True),
    ((ConnectionError, TimeoutError), lambda: Declined("x"), False),
    ([ConnectionError], ConnectionResetError, True),
    ({ConnectionError}, lambda: Declined("x"), False),
    (BaseException, lambda: SystemExit(1), True),
    (Exception, lambda: SystemExit(1), False),
    (Exception, asyncio.CancelledError, False),
    (code_is_busy, lambda: Declined("busy"), True),
    (code_is_busy, lambda: Declined("stolen"), False),
    (lambda error: isinstance(error, OSError), ConnectionError, True),
    (lambda error: [], ConnectionError, False),
    (lambda error: 1, ConnectionError, True),
    (ConnectionError, groups(ConnectionResetError(), BrokenPipeError()), True),
    (ConnectionError, groups(ConnectionResetError(), ValueError()), False),
    (ConnectionError, groups(ConnectionResetError()), True),
    (code_is_busy, groups(Declined("busy"), Declined("busy")), True),
    (ExceptionGroup, groups(ValueError(), KeyError()), True),
    (Exception, hostile.Shy, True),
    (None, lambda: Declined("x"), True),
]


def test_an_error_that_is_not_one_of_them_fails_the_step_at_once_with_itself() -> None:
    failures: list[StepFailed] = []

    @workflow
    def order(ctx: Context) -> None:
        for only, make, _ in CASES:

            def fail(step: Step) -> None:
                raise make()

            try:
                ctx.step("charge", fail, retry=Retry(1, only=only, backoff_base=0))
            except StepFailed as failed:
                failures.append(failed)

    with Harness(workflows=[order], steps_per_invocation=99) as durable:
        durable.start(order)
        durable.run()

    told = [(failed.kind, failed.attempts) for failed in failures]
    assert told == [("exhausted", 2) if retried else ("critical", 1) for _, _, retried in CASES]
    assert failures[10].error == ErrorInfo("Declined", "declined: stolen", {"code": "stolen"})


@pytest.mark.parametrize("predicate", [lambda error: error.nothing, lambda: True, lambda error: sys.exit(3)])
def test_a_predicate_that_raises_does_not_replace_the_step_s_own_error(predicate: Any) -> None:
    failures: list[StepFailed] = []

    def fail(step: Step) -> None:
        raise Declined("stolen")

    @workflow
    def order(ctx: Context) -> None:
        try:
            ctx.step("charge", fail, retry=Retry(5, only=predicate))
        except StepFailed as failed:
            failures.append(failed)

    with Harness(workflows=[order]) as durable:
        durable.start(order)
        durable.run()

    (failed,) = failures
    assert (failed.kind, failed.attempts, failed.error.type) == ("critical", 1, "Declined")
    assert failed.error.message.startswith("declined: stolen (Retry's only raised ")
    assert failed.error.details["code"] == "stolen"
    assert failed.error.details["retry"].split(":")[0] in ("AttributeError", "TypeError", "SystemExit")


def test_a_terminal_error_is_not_retried_even_if_it_is_one_of_them() -> None:
    def fail(step: Step) -> None:
        raise TerminalError("closed")

    @workflow
    def order(ctx: Context) -> int:
        return ctx.try_step("charge", fail, retry=Retry(5, only=TerminalError)).failure.attempts

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.output == 1


@pytest.mark.rule("S4")
def test_a_timeout_is_retried_where_that_is_asked_for_whatever_only_says() -> None:
    def sleep(step: Step) -> None:
        while True:
            pass

    @workflow
    def order(ctx: Context) -> list[Any]:
        retry = Retry(1, only=ConnectionError, on_timeout=True, backoff_base=0)
        failure = ctx.try_step("charge", sleep, retry=retry, timeout=0.1).failure
        return [failure.kind, failure.attempts]

    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.output == ["timeout", 2]


@pytest.mark.parametrize(
    "only",
    ["ConnectionError", 5, (), [], (ValueError, "x"), (ValueError, int), int, str, (ValueError, lambda error: True)],
    ids=[
        "text",
        "number",
        "none",
        "no list",
        "text in it",
        "no error in it",
        "no error",
        "text's type",
        "function in it",
    ],
)
def test_what_can_not_say_which_errors_is_refused(only: Any) -> None:
    with pytest.raises(InvalidCall, match="Retry: only is a class of exceptions, several of them, or a function"):
        Retry(only=only)


# --- what is left out -------------------------------------------------------------------------------------------------


@pytest.mark.rule("R1")
def test_a_rollback_s_retry_keeps_what_it_does_not_say() -> None:
    attempts: dict[str, list[float]] = {}
    retries = {
        "count": Retry(3, jitter=False),
        "base": Retry(3, backoff_base=60, jitter=False),
        "usual": Retry(3, backoff_base=0.1, backoff_max=30, jitter=False),
    }

    @workflow
    def order(ctx: Context) -> None:
        for name, retry in retries.items():

            def undo(undo: Any) -> None:
                attempts.setdefault(undo.name, []).append(durable.clock.now() / 1000)
                raise OSError("no line")

            ctx.step(name, lambda step: None, rollback=undo, rollback_retry=retry)
        raise ValueError("sold out")

    order.on_rollback_failure = "continue"
    with Harness(workflows=[order]) as durable:
        durable.start(order)
        durable.run()

    waits = {
        name: [round(later - earlier, 1) for earlier, later in pairwise(began)] for name, began in attempts.items()
    }
    assert waits == {"count": [1.0, 2.0, 4.0], "base": [60.0, 120.0, 240.0], "usual": [0.1, 0.2, 0.4]}


@pytest.mark.rule("R1", "S4")
def test_a_rollback_that_runs_out_of_time_is_retried_unless_its_retry_says_no() -> None:
    attempts: list[tuple[str, int]] = []

    def undo(undo: Any) -> None:
        attempts.append((undo.name, undo.attempt))
        while True:
            pass

    @workflow(on_rollback_failure="continue")
    def order(ctx: Context) -> None:
        options: dict[str, Any] = {"rollback": undo, "rollback_timeout": 0.05}
        ctx.step("no", lambda step: None, rollback_retry=Retry(1, on_timeout=False), **options)
        ctx.step("usual", lambda step: None, rollback_retry=Retry(1), **options)
        raise ValueError("sold out")

    with Harness(workflows=[order]) as durable:
        durable.start(order)
        durable.run()

    assert attempts == [("usual", 1), ("usual", 2), ("no", 1)]


def test_what_a_step_s_retry_leaves_out_is_as_usual_for_a_step() -> None:
    assert Retry(20) == Retry(20, backoff_base=0.1, backoff_max=30, factor=2, jitter=True, on_timeout=False, only=None)
    assert repr(Retry(20, on_timeout=True)) == "Retry(max_retries=20, on_timeout=True)"

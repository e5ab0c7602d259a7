"""What user code may raise: everything but interrupts is its failure."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from durable.engine.interrupts import LeaseLost, ProcessEnds, Suspended
from durable.errors import Interrupt, is_failure


class Panic(BaseException):
    """What a library raises that wants no `except Exception` to see it."""


class Pretender(Exception):
    """An error that claims to be a KeyboardInterrupt."""

    @property
    def __class__(self) -> Any:
        return KeyboardInterrupt


class ClosedGroup(BaseExceptionGroup[BaseException]):
    """A group that does not show its members."""

    @property
    def exceptions(self) -> Any:
        raise Panic("not yours to see")


def nested(error: BaseException, levels: int) -> BaseException:
    for _ in range(levels):
        error = BaseExceptionGroup("group", [ValueError(), error])
    return error


@pytest.mark.parametrize(
    "error",
    [
        ValueError(),
        Panic(),
        SystemExit(1),
        GeneratorExit(),
        asyncio.CancelledError(),
        BaseExceptionGroup("several", [Panic(), ValueError()]),
        nested(ValueError(), 10_000),
        Pretender(),
        ClosedGroup("closed", [Panic()]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_user_code_raises_is_its_failure(error: BaseException) -> None:
    assert is_failure(error)


@pytest.mark.parametrize(
    "error",
    [
        KeyboardInterrupt(),
        Interrupt(),
        Suspended(),
        ProcessEnds(),
        LeaseLost(),
        BaseExceptionGroup("several", [ValueError(), Suspended()]),
        nested(KeyboardInterrupt(), 10_000),
        ClosedGroup("closed", [Suspended()]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_interrupt_is_not_alone_or_in_a_group(error: BaseException) -> None:
    assert not is_failure(error)

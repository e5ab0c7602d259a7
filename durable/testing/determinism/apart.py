"""Do something as a cold process would, much later, in a copy of this one: the test's own objects stay as they are."""

from __future__ import annotations

import gc
import logging
import os
import random
import select
import signal
import sys
import sysconfig
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn
from unittest.mock import patch

import msgspec

from durable.testing.clock import VirtualClock

LATER = timedelta(
    days=511, hours=7, minutes=13, seconds=17, milliseconds=211
)  # another second, hour, day, month and year
PATIENCE = 60.0  # seconds of real time that the copy may take
_CACHE = type(lru_cache(print))
_PYTHON = tuple(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))
_DURABLE = str(Path(__file__).parents[2])

Work = Callable[[], list[str]]


def elsewhere(clock: VirtualClock, work: Work) -> list[str]:
    """Do the work at another time, with other random numbers and empty caches, and return what it returns.

    It is done in a fork of this process. Where there are none (Windows) it is done here, and what it changes stays changed.
    """
    if not hasattr(os, "fork"):
        return _later(clock, work)
    caches = list(_caches())  # looked for here: in the copy each look costs a copied page of memory
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # From Python 3.12 on, where there are threads (of bodies): the copy does without them.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.close(reading)
        _be_the_copy(clock, work, caches, writing)
    os.close(writing)
    return _answer(child, reading)


def _later(clock: VirtualClock, work: Work) -> list[str]:
    state = random.getstate()
    random.seed()
    try:
        with clock.ahead(LATER):
            return work()
    finally:
        random.setstate(state)


def _be_the_copy(clock: VirtualClock, work: Work, caches: list[Any], writing: int) -> NoReturn:
    """Do the work, hand over what it returns, and end without a trace: no output, no log, no cleaning up."""
    try:
        gc.disable()  # it would touch, and so copy, all that there is
        for each in caches:
            each.cache_clear()
        with _silence():
            try:
                answer = _later(clock, work)
            except Exception as error:
                answer = [f"the replay failed: {type(error).__name__}: {error}"]
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(msgspec.json.encode(answer))
    finally:
        os._exit(0)


@contextmanager
def _silence() -> Iterator[None]:
    """Nothing is printed or logged: it was, when it ran."""
    with (
        Path(os.devnull).open("w") as nowhere,
        redirect_stdout(nowhere),
        redirect_stderr(nowhere),
        patch.object(logging.Logger, "handle", lambda logger, record: None),
    ):
        yield


def _answer(child: int, reading: int) -> list[str]:
    with os.fdopen(reading, "rb") as pipe:
        if not select.select([pipe], [], [], PATIENCE)[0]:
            os.kill(child, signal.SIGKILL)
        content = pipe.read()
    os.waitpid(child, 0)
    if not content:
        return [
            f"the workflow's code ends its process, or does not come to an end within {PATIENCE:g} s, when it is replayed"
        ]
    return msgspec.json.decode(content, type=list[str])


def _caches() -> Iterator[Any]:
    """Find what `functools` keeps for the user's functions: a cold process has it not."""
    for module in _users_modules(len(sys.modules)):
        yield from (value for value in list(vars(module).values()) if isinstance(value, _CACHE))


@lru_cache(maxsize=1)
def _users_modules(loaded: int) -> list[ModuleType]:
    """The modules that are neither Python's nor of an installed package; they are looked for again when there are more."""
    files = [(module, getattr(module, "__file__", None)) for module in list(sys.modules.values())]
    return [module for module, file in files if isinstance(file, str) and not file.startswith((*_PYTHON, _DURABLE))]

"""Invocations: which of them makes the call that is on the wire, and whether its process still lives."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from durable.engine.interrupts import ProcessEnds


class ProcessDied(ProcessEnds):
    """The process is gone: what was about to happen in it never happens."""


@dataclass(slots=True)
class Invocation:
    """One invocation of a function, and how it ended."""

    number: int
    function: str  # logical id
    event: Any
    deadline: int  # when Lambda stops the process, in milliseconds since the epoch
    answer: Any = None
    error: Exception | None = None
    died: bool = False
    ended: bool = False

    @property
    def failed(self) -> bool:
        """Whether Lambda saw no answer."""
        return self.died or self.error is not None


class Invocations:
    """All invocations of a test in order, and which one a thread works for."""

    def __init__(self) -> None:
        self.all: list[Invocation] = []
        self._running: list[Invocation] = []  # innermost last
        self._pump = threading.current_thread()
        self._stacks: WeakKeyDictionary[threading.Thread, list[Invocation]] = WeakKeyDictionary()
        self._owners: WeakKeyDictionary[threading.Thread, Invocation] = WeakKeyDictionary()

    @contextmanager
    def running(self, function: str, event: Any, deadline: int) -> Iterator[Invocation]:
        """Registers an invocation, which runs in this thread, for as long as it runs."""
        invocation = Invocation(len(self.all) + 1, function, event, deadline)
        stack = self._stacks.setdefault(threading.current_thread(), [])
        self.all.append(invocation)
        self._running.append(invocation)
        stack.append(invocation)
        try:
            yield invocation
        finally:
            stack.pop()
            self._running.remove(invocation)
            invocation.ended = True

    def current(self) -> Invocation | None:
        """The invocation that this thread works for; None outside of all.

        A thread that a handler has started belongs to the invocation during which it was first seen here, and stays with
        it if the process died: what is dead makes no call. One that outlived a healthy invocation goes to the next.
        """
        thread = threading.current_thread()
        if stack := self._stacks.get(thread):
            return stack[-1]
        if thread is self._pump or not self._running:
            return self._dead_owner(thread)
        owner = self._owners.get(thread)
        if owner is None or (owner.ended and not owner.died):
            owner = self._owners[thread] = self._running[-1]
        return owner

    def _dead_owner(self, thread: threading.Thread) -> Invocation | None:
        owner = self._owners.get(thread)
        return owner if owner is not None and owner.died else None

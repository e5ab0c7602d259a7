"""What a warm process keeps: sealed segments, which never change, and `step.vars`. All of it may be gone at any time."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from durable.protocol.updates import Segment

MAX_BYTES = 16 * 1024 * 1024  # of segments, compressed
MAX_EXECUTIONS = 256  # whose vars are kept


class SegmentCache:
    """The sealed segments of recent executions, each as a whole chain, by the execution's life."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._chains: OrderedDict[str, list[Segment]] = OrderedDict()
        self._bytes = 0
        self._max_bytes = max_bytes

    def chain(self, life: str) -> list[Segment]:
        """What is kept of an execution, oldest first."""
        chain = self._chains.get(life)
        if chain is None:
            return []
        self._chains.move_to_end(life)
        return chain

    def put(self, life: str, chain: list[Segment]) -> None:
        """Keep a chain in place of what was kept of the execution."""
        self.forget(life)
        self._chains[life] = chain
        self._bytes += _size(chain)
        while self._bytes > self._max_bytes:
            _, oldest = self._chains.popitem(last=False)
            self._bytes -= _size(oldest)

    def forget(self, life: str) -> None:
        """Drop what is kept of an execution."""
        self._bytes -= _size(self._chains.pop(life, []))


class VarsCache:
    """The `vars` of recent executions (S9), by the execution's life."""

    def __init__(self) -> None:
        self._vars: OrderedDict[str, dict[str, Any]] = OrderedDict()

    def of(self, life: str) -> dict[str, Any]:
        """The execution's scratch dictionary."""
        found = self._vars.setdefault(life, {})
        self._vars.move_to_end(life)
        while len(self._vars) > MAX_EXECUTIONS:
            self._vars.popitem(last=False)
        return found

    def forget(self, life: str) -> None:
        """Drop what is kept of an execution."""
        self._vars.pop(life, None)


def _size(chain: list[Segment]) -> int:
    return sum(len(segment.entries) + len(segment.key) for segment in chain)

"""What a warm process keeps: sealed segments, which never change, and `step.vars`. All of it may be gone at any time."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from durable.protocol.updates import Segment

MAX_BYTES = 16 * 1024 * 1024  # of segments, compressed
MAX_EXECUTIONS = 256  # whose vars are kept


def number_of(key: str) -> int:
    """The number of a segment, which its key carries."""
    return int(key.split("#")[1])


class SegmentCache:
    """The sealed segments of recent executions, each as a whole chain."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._chains: OrderedDict[str, list[Segment]] = OrderedDict()
        self._bytes = 0
        self._max_bytes = max_bytes

    def chain(self, execution_id: str) -> list[Segment]:
        """What is kept of an execution, oldest first."""
        chain = self._chains.get(execution_id)
        if chain is None:
            return []
        self._chains.move_to_end(execution_id)
        return chain

    def put(self, execution_id: str, chain: list[Segment]) -> None:
        """Keep a chain in place of what was kept of the execution."""
        self.forget(execution_id)
        self._chains[execution_id] = chain
        self._bytes += _size(chain)
        while self._bytes > self._max_bytes:
            _, oldest = self._chains.popitem(last=False)
            self._bytes -= _size(oldest)

    def forget(self, execution_id: str) -> None:
        """Drop what is kept of an execution."""
        self._bytes -= _size(self._chains.pop(execution_id, []))


class VarsCache:
    """The `vars` of recent executions (S9)."""

    def __init__(self) -> None:
        self._vars: OrderedDict[str, dict[str, Any]] = OrderedDict()

    def of(self, execution_id: str) -> dict[str, Any]:
        """The execution's scratch dictionary."""
        found = self._vars.setdefault(execution_id, {})
        self._vars.move_to_end(execution_id)
        while len(self._vars) > MAX_EXECUTIONS:
            self._vars.popitem(last=False)
        return found

    def forget(self, execution_id: str) -> None:
        """Drop what is kept of an execution."""
        self._vars.pop(execution_id, None)


def _size(chain: list[Segment]) -> int:
    return sum(len(segment.entries) + len(segment.key) for segment in chain)

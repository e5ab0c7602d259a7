"""Control flow that user code must not catch by accident: all of it is a BaseException (D8, D9).

`durable.runtime.invocation.executor` handles each; only Suspended is ever raised into workflow code.
"""

from __future__ import annotations

from durable.errors import Interrupt, StoreError

__all__ = ["Fault", "Interrupt", "LeaseLost", "ProcessEnds", "Suspended"]


class ProcessEnds(Interrupt):
    """The process ends at once, and nothing more is recorded: tests simulate the death of a process with it."""


class Suspended(Interrupt):
    """The execution can go no further in this invocation; another one will continue it."""


class LeaseLost(Interrupt):
    """Another invocation, or a command, has taken the execution over: end without a further write (E4)."""


class Fault(Interrupt):
    """A fault of the infrastructure: the table or the queue could not be reached (D9)."""

    def __init__(self, error: StoreError) -> None:
        self.error = error
        super().__init__(str(error))

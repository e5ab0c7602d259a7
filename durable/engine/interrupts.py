"""Control flow that user code must not catch by accident: all of it is a BaseException (D8, D9).

Each is raised below the user's function and unwrapped in one place, `durable.runtime.invocation.executor`.
"""

from __future__ import annotations

from durable.errors import Interrupt, StoreError

__all__ = ["Fault", "Interrupt", "LeaseLost", "ProcessEnds", "Suspended"]


class ProcessEnds(Interrupt):
    """The process is ending under the code that runs: nothing is recorded, nobody is told (tests simulate deaths with it)."""


class Suspended(Interrupt):
    """The execution can go no further in this invocation; it will come back."""


class LeaseLost(Interrupt):
    """Another invocation, or a verb, owns the execution now: leave quietly (E4)."""


class Fault(Interrupt):
    """A fault of the machinery: the table or the queue could not be reached (D9)."""

    def __init__(self, error: StoreError) -> None:
        self.error = error
        super().__init__(str(error))

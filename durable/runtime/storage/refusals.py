"""Why a checkpoint was not written, although the execution is still held."""

from __future__ import annotations

from durable.engine.interrupts import Interrupt
from durable.errors import DurableError


class InboxChanged(Interrupt):
    """A message came while the execution was about to park: look again (protocol rule 5)."""


class WriteRefused(DurableError):
    """One of the body's own writes could not be: nothing was written, and the attempt has failed (S10)."""

    def __init__(self, index: int | None, reason: str, *, invalid: bool = False) -> None:
        self.index = index
        self.invalid = invalid  # a repetition would be refused as well
        self.reason = reason
        which = "a write" if index is None else f"write {index + 1}"
        super().__init__(f"{which} of step.transact was refused: {reason}")

"""The ports that a harness binds itself: a process that can die, an observer that counts bodies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from durable.runtime.ports import ExecutionEnded, StepEnded
from durable.testing.faults import Faults


@dataclass(frozen=True, slots=True)
class VirtualProcess:
    """Implements `durable.runtime.ports.Process`: its end is that of the running invocation."""

    faults: Faults

    def exit(self) -> NoReturn:
        """Ends the process: raises ProcessDied."""
        self.faults.die()


@dataclass(frozen=True, slots=True)
class BodyObserver:
    """Implements `durable.runtime.ports.Observer`: numbers the bodies, so that a process can die in any."""

    faults: Faults

    def execution_started(self, execution_id: str, workflow: str) -> None:
        """Nothing to count."""

    def body_started(self, execution_id: str, path: str, attempt: int, *, rollback: bool) -> None:
        """A body is about to run."""
        self.faults.body(path)

    def step_ended(self, event: StepEnded) -> None:
        """Nothing to count."""

    def execution_ended(self, event: ExecutionEnded) -> None:
        """Nothing to count."""

    def noticed(self, what: str, execution_id: str, workflow: str) -> None:
        """Nothing to count."""

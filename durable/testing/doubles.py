"""The ports that a harness binds itself: a process that can die, an observer that counts bodies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from durable.runtime.events import BodyStarted, Event
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

    def observe(self, event: Event) -> None:
        """Count a body that is about to run."""
        if isinstance(event, BodyStarted):
            self.faults.body(event.path)

"""Watch which executions are advanced, and replay them when a run is over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import ClassVar, cast

from msgspec.structs import replace

from durable.errors import DurableError
from durable.protocol.continuation import Delivery
from durable.protocol.delivery import Verdict
from durable.runtime.application import Application
from durable.runtime.invocation.executor import Executor
from durable.testing.clock import VirtualClock
from durable.testing.determinism.apart import elsewhere
from durable.testing.determinism.recording import Recording
from durable.testing.determinism.replaying import difference

Recorded = tuple[Recording, Application]


class NotDeterministic(DurableError):
    """A workflow's code does something else than it did, when it is replayed in another process at another time."""

    def __init__(self, problems: list[str]) -> None:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        super().__init__(
            f"{problems[0]}{more}. Code is replayed at any time and in any process. Let the workflow take the time from "
            "ctx.now(), and random numbers and ids from ctx.random() and ctx.uuid(); sort what comes out of a set; and read "
            "in a step whatever may change: files, the environment, what a process keeps."
        )


class Runs:
    """What each run of a test recorded, and what the same run had recorded in another process, which is replayed too."""

    def __init__(self, others: Iterable[Sequence[Recording]] = ()) -> None:
        self.recorded: list[list[Recording]] = []
        self._others = iter(others)

    def ended(self, recordings: Iterable[Recording]) -> Sequence[Recording]:
        """Keep what a run recorded; returns what the other process had recorded in it."""
        self.recorded.append(list(recordings))
        return next(self._others, ())


class Verification:
    """The executions that were advanced since the last look, each with the application that did it."""

    runs: ClassVar[Runs | None] = None  # set by the pytest option --durable-cold

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self._advanced: dict[str, Application] = {}
        self._newest: Application | None = None

    def watched(self, application: Application) -> Application:
        """Return the application with an executor that notes what it advances, and shows user code a time of its own."""
        self._newest = application
        return replace(application, executor=cast(Executor, _Watched(application, self._clock, self._advanced)))

    def verify(self) -> None:
        """Replay what was advanced; raises NotDeterministic that names the step, and what to do."""
        advanced = list(self._advanced.items())
        self._advanced.clear()
        recorded = [
            (recording, application)
            for execution_id, application in advanced
            if (recording := Recording.read(application.ports, execution_id)) is not None
        ]
        if self.runs is not None and self._newest is not None:
            others = self.runs.ended(recording for recording, _ in recorded)
            recorded += [(recording, self._newest) for recording in others]
        if recorded and (problems := elsewhere(self._clock, lambda: list(_problems(recorded)))):
            raise NotDeterministic(problems)


def _problems(recorded: Iterable[Recorded]) -> Iterator[str]:
    for recording, application in recorded:
        head = recording.head
        workflow = application.registry.find(head.workflow, head.version)
        if workflow is not None and (what := difference(recording, workflow, application.settings.drift)):
            yield f"workflow '{head.workflow}' is not deterministic: of execution '{head.execution_id}', {what}"


class _Watched:
    """An executor whose every advance is noted."""

    def __init__(self, application: Application, clock: VirtualClock, advanced: dict[str, Application]) -> None:
        self._application = application
        self._clock = clock
        self._advanced = advanced

    def advance(self, delivery: Delivery, remaining: Callable[[], float]) -> Verdict:
        """Advance the execution."""
        self._advanced[delivery.continuation.execution] = self._application
        with self._clock.invocation():
            return self._application.executor.advance(delivery, remaining)

"""One replay: the workflow's code against its history. A state machine without I/O.

`advance` runs the code until the history has no answer, and returns what it needs, what is to run, or how it ended. The
runtime does that, hands over the result (`provide`, `settle`) and advances again. What each operation does stands in
`durable.engine.operations`, one a file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from durable.api.calls import Drift
from durable.api.context import Context
from durable.api.log import ExecutionLog
from durable.api.workflow import AnyWorkflow
from durable.engine.branch import Branch, ending
from durable.engine.decisions import RECORDED_FIRST
from durable.engine.entries import Operation, StepEntry
from durable.engine.history import History, RecordedScope
from durable.engine.operations import Scope
from durable.engine.outcomes import Diverged, Done, Failed, Note, Outcome, Ready, Undoable
from durable.usercode.failures import described, original

Check = Callable[[bytes, str], bytes]


class Settings(Struct, frozen=True):
    """What a replay has to know besides the history."""

    execution_id: str
    created: int
    now: int  # the time by which all waits are judged
    fields: Mapping[str, object]  # of the log lines of the workflow's code
    check: Check  # returns a value that can be stored; raises CodecError that names one that is too large
    drift: Drift = "off"
    collecting: bool = False  # nothing runs: the rollbacks of the steps that the code comes by are collected


class Replay:
    """The state of one replay. Close it when it is not advanced any more: that takes the user's code down."""

    __slots__ = (
        "_answer",
        "_branch",
        "_notes",
        "_pending",
        "_started",
        "check",
        "collecting",
        "drift",
        "drifted",
        "execution_id",
        "history",
        "life",
        "now",
        "occupied",
        "time",
        "undoables",
    )

    def __init__(self, workflow: AnyWorkflow, history: History, settings: Settings) -> None:
        self.execution_id = settings.execution_id
        self.life = f"{settings.execution_id}#{settings.created}"  # the id may be used again
        self.history = history
        self.now = settings.now
        self.time = settings.now  # the time as last told: what new entries are dated with
        self.check = settings.check
        self.drift: Drift = settings.drift
        self.collecting = settings.collecting
        self.occupied = ""  # the body that runs while the code rests, for messages
        self.drifted: list[str] = []  # steps whose arguments differ from those of their first run
        self.undoables: list[Undoable] = []
        self._notes: list[Note] = []
        self._answer: Any = None
        self._started = False
        history.root.start_again()
        self._branch = self._make_branch(history.root, settings.created)
        log = ExecutionLog(settings.fields, self._is_live)
        self._pending = lambda: self._run(workflow, log)

    # --- driven by the runtime -------------------------------------------------------------------------------------

    def advance(self, time: int) -> Outcome:
        """Run the code until it can go no further by itself; `time` is now."""
        self.time = time
        answer, self._answer, self.occupied = self._answer, None, ""
        if self._started:
            outcome: Outcome = self._branch.resume(answer)
        else:
            self._started = True
            outcome = self._branch.start(self._pending)
        if isinstance(outcome, Ready):
            self.occupied = f"the body of step '{outcome.call.path}'"
        return outcome

    def provide(self, answer: object) -> None:
        """Give what was needed; the code has it when it is advanced."""
        self._answer = answer

    def settle(self, entry: StepEntry) -> None:
        """Give the outcome of the body that was ready.

        One that is recorded by now stands as it is: it says where its value is kept, if that is large.
        """
        recorded = self.history.operation(entry.path)
        if not isinstance(recorded, StepEntry) or not recorded.settled:
            self.history.record(entry)
        self._answer = entry

    def take_notes(self) -> list[Note]:
        """Return what has come since the last call and is to be recorded."""
        notes, self._notes = self._notes, []
        return notes

    def close(self) -> bool:
        """Take the user's code down. Return whether it swallowed that: a bare `except` around a durable operation."""
        self.occupied = ""
        return self._branch.close()

    # --- asked by operations ---------------------------------------------------------------------------------------

    def note(self, entry: Operation) -> None:
        """Have an entry recorded with the next checkpoint, or before any later body: see RECORDED_FIRST."""
        self.history.record(entry)
        self._notes.append(Note(entry, RECORDED_FIRST[entry.kind]))

    def _is_live(self) -> bool:
        """Whether the code has left its history behind, or a body runs: lines that it logs are new."""
        return bool(self.occupied) or not (self.collecting or self._branch.behind or self._branch.closing)

    # --- the code --------------------------------------------------------------------------------------------------

    def _make_branch(self, recorded: RecordedScope, clock: int) -> Branch:
        return Branch(self, recorded, clock)

    def _run(self, workflow: AnyWorkflow, log: ExecutionLog) -> Outcome:
        branch = self._branch
        scope = Scope(branch, self.history.root)
        ended: Done | Failed = ending(lambda: Done(workflow(Context(scope, log), self._input(workflow))))
        scope.open = False
        if branch.closing or not branch.behind:
            return ended
        raised = ended.error if isinstance(ended, Failed) else None
        cause = None if raised is None else described(original(raised))
        diverged = branch.missing("the end of the workflow", cause=cause)
        diverged.__cause__ = raised
        return Diverged(diverged)

    def _input(self, workflow: AnyWorkflow) -> Any:
        with self._branch.guard():
            given = self.history.input
            return None if given is None else self._branch.value(given, workflow.input_type, "an input")

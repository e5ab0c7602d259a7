"""Rules 8 and 9: the checkpoint of a rollback claim. The steps are rolled back one by one, the last started first."""

from __future__ import annotations

from tests.model.checkpoint import Written, deletes, lost, sends, write
from tests.model.delivery import eligible, next_rollback
from tests.model.scenario import Scenario
from tests.model.state import Head, Process


def rollback_checkpoint(head: Head, process: Process, outcome: str, scenario: Scenario) -> Written:
    """The first one sets rolling_back and fixes the set; the last one, or the first that fails for good, ends it."""
    if lost(head, process, scenario.broken):
        return Written(head, deletes(process))
    changed = write(
        head,
        process,
        keep=False,
        claims=0,
        status="rolling_back",
        eligible=eligible(head, scenario),
        wake="",
        due="now",
        undoing=0,
    )
    match outcome:
        case "undo mark":
            marked = changed._replace(lease="held", undoing=1, undo_marks=head.undo_marks + 1)
            return Written(marked, process._replace(place="undo", revision=marked.revision, marked=True))
        case "undo exhaust":
            return Written(ended(changed._replace(rollback_failed=True)), deletes(process))
        case "retry":
            return back_off(changed, process, scenario)
        case "ok":
            done = (*changed.rolled_back, process.step)
            changed = changed._replace(rolled_back=done, undo_attempts=0, undo_marks=0)
    following = next_rollback(changed, scenario)
    if following < 0:
        return Written(ended(changed), deletes(process))
    if scenario.steps_per_invocation == 1:
        return Written(changed, sends(process, changed.revision))
    kept = process._replace(place="undo", step=following, revision=changed.revision, seen=changed.inbox, marked=False)
    return Written(changed._replace(lease="held", undoing=1), kept)


def back_off(head: Head, process: Process, scenario: Scenario) -> Written:
    """A rollback that is tried again parks as a step does; the status stays rolling_back. In the end the chain halts."""
    charged = head.undo_attempts + head.undo_marks + (0 if process.marked else 1)
    head = head._replace(undo_attempts=charged, undo_marks=0)
    if head.undo_attempts >= scenario.workflow[process.step].undo_attempts:
        return Written(ended(head._replace(rollback_failed=True)), deletes(process))
    return Written(head._replace(wake="pending", seen=head.inbox, due="later"), sends(process, head.revision))


def ended(head: Head) -> Head:
    """The execution is failed or cancelled, whichever began the rollback."""
    return head._replace(status=head.ending, due="", wake="")

"""What must never happen (safety), and where an execution may rest for good (the goal of liveness)."""

from __future__ import annotations

from tests.model.delivery import claimable, parked
from tests.model.scenario import Scenario
from tests.model.state import AT_REST, FORWARD, TERMINAL, WRITES_NO_MORE, Head, Process, State, stale


def at_rest(state: State) -> bool:
    """Ended, paused (diverged), or waiting for a client's message and nothing else."""
    head = state.head
    if head.status in TERMINAL:
        return True
    if state.processes or head.lease != "free":
        return False
    return head.status in AT_REST or (head.status in FORWARD and head.wake == "forever" and parked(head))


def violation(before: State, after: State, scenario: Scenario) -> str | None:
    """The first property that the step from `before` to `after` breaks."""
    if before.head is not after.head:
        broken = (
            verb_overwritten(before.head, after.head)
            or history_torn(before, after, scenario)
            or rollback_wrong(before.head, after, scenario)
            or wrongly_failed(before.head, after, scenario)
        )
        if broken:
            return broken
    return (
        overlap(after, scenario)
        or runs_again(after, scenario)
        or (None if scenario.late else budget(after, scenario))  # the body of who is late may not have been seen yet
        or index(after.head)
        or crowd(after, scenario)
    )


def verb_overwritten(before: Head, after: Head) -> str | None:
    """A terminal status is never left; only clients end a pause; a cancelled execution never runs forward again."""
    if before.status == after.status:
        return None
    if before.status in TERMINAL:
        return f"the terminal status {before.status} is left for {after.status}"
    if before.status == "paused" and after.status not in ("running", "waiting", "cancelling", "terminated"):
        return f"a checkpoint overwrites paused with {after.status}"
    if before.status == "paused" and after.status in ("running", "waiting") and after.revision == before.revision + 1:
        return None
    if before.ending and after.status in FORWARD | {"completed", "failing", "paused"}:
        return f"{before.status} is overwritten with {after.status}"
    return None


def history_torn(before: State, after: State, scenario: Scenario) -> str | None:
    """Each entry is written once, in order, for what really happened."""
    head, started = after.head, after.truth.started
    added = range(before.head.recorded, head.recorded)
    for index in added:
        if scenario.workflow[index].kind == "step" and index not in started:
            return f"step {index} is recorded without a run, or twice"
    if head.taken > before.head.taken and any(step >= head.recorded for step in started):
        return "a body that ran is in no history: it ran after a wait whose other outcome is now recorded"
    if head.taken > head.inbox:
        return "a message is taken twice"
    return None


def rollback_wrong(before: Head, after: State, scenario: Scenario) -> str | None:
    """At the end exactly the started steps are rolled back, each once, the last started first."""
    head, truth = after.head, after.truth
    done = head.rolled_back
    if list(done) != sorted(set(done), reverse=True):
        return f"rolled back in the order {done}"
    if head.status != before.status and head.ending == head.status and not head.rollback_failed:
        recorded = {index for index in range(head.recorded) if scenario.workflow[index].kind == "step"}
        if not (truth.started | recorded) <= set(done):
            return f"started {sorted(truth.started | recorded)}, rolled back only {done}"
        if not (scenario.late or set(done) <= truth.started | recorded | truth.touched):
            return f"rolled back {done}, of which some cannot have started"
    return None


def wrongly_failed(before: Head, after: State, scenario: Scenario) -> str | None:
    """A dead letter fails neither a live body nor a wait, and nothing that did not fail again and again."""
    head = after.head
    dead = before.dead + 1 if head.status == "failing" and not head.failed else head.dead
    if head.status not in ("failing", "failed") or before.status == head.status or dead == 0:
        return None
    if after.faults.deploying:
        return "a dead letter fails an execution whose version is not deployed yet"
    if before.lease != "free":
        return "a dead letter fails an execution whose lease is not over"
    if parked(before):
        return "a dead letter fails an execution that merely waits"
    if dead < 4 and not after.truth.died:
        return "a dead letter fails an execution that never crashed"
    return None


def overlap(state: State, scenario: Scenario) -> str | None:
    """One writer at a time; but for a body of a holder that is late, whose outcome the fence refuses."""
    if scenario.late:
        return None
    at_work = [process for process in state.processes if process.place in ("body", "undo")]
    if len(at_work) > 1:
        return f"{at_work[0].place} {at_work[0].step} and {at_work[1].place} {at_work[1].step} overlap"
    return None


def runs_again(state: State, scenario: Scenario) -> str | None:
    """What is recorded never runs again, and who leaves has given the lease back."""
    holder: Process | None = None
    for process in state.processes:
        if scenario.late and process.fence != state.head.fence:
            continue
        if process.place == "body" and process.step < state.head.recorded:
            return f"recorded step {process.step} runs again"
        if process.place == "undo" and process.step in state.head.rolled_back:
            return f"recorded rollback {process.step} runs again"
        if process.fence == state.head.fence:
            holder = process
    if (
        state.head.lease == "held"
        and state.head.status not in TERMINAL
        and (holder is None or (holder.place in WRITES_NO_MORE and not holder.nonce))
    ):
        return "an invocation ends while it holds the lease"
    return None


def budget(state: State, scenario: Scenario) -> str | None:
    """A poisoned step ends, not before its attempts are used up, and nobody is charged without a run."""
    for process in state.processes:
        if process.place == "exhaust":
            attempts = scenario.workflow[process.step].attempts
            if state.truth.bodies < attempts:
                return f"step {process.step} fails for crashes after {state.truth.bodies} bodies of {attempts}"
        if process.place == "undo exhaust":
            attempts = scenario.workflow[process.step].undo_attempts
            if state.truth.undos < attempts:
                return f"rollback {process.step} fails for crashes after {state.truth.undos} bodies of {attempts}"
        if process.place == "undo" and scenario.workflow[process.step].undo == ("poison",):
            allowed = scenario.workflow[process.step].undo_attempts + 1
            if state.truth.undos > allowed:
                return f"poisoned rollback {process.step} has run {state.truth.undos} times"
    at = state.head.recorded
    if at < len(scenario.workflow) and scenario.workflow[at].outcomes == ("poison",):
        allowed = scenario.workflow[at].attempts + (not scenario.workflow[at].at_most_once)
        if state.truth.bodies > allowed:
            return f"poisoned step {at} has run {state.truth.bodies} times"
    return None


def index(head: Head) -> str | None:
    """Rule 12: what a worker could claim is due, and what is due could be claimed (or the sweeper sends for ever)."""
    if head.status in TERMINAL:
        return "an ended execution is due" if head.due else None
    if head.lease != "free" or head.status in AT_REST:
        return None
    if claimable(head) != (head.due == "now"):
        return f"{'not ' if head.due != 'now' else ''}due, but {'' if claimable(head) else 'not '}claimable"
    return None


def crowd(state: State, scenario: Scenario) -> str | None:
    """Chains do not multiply: a continuation is live while it may still lead to a claim or to another one."""
    doomed = {process.message for process in state.processes if process.place == "delete"}
    live = [message for message in state.messages if message.id not in doomed and not stale(state.head, message)]
    if len(live) > scenario.most_messages and state.head.status not in TERMINAL:
        return f"{len(live)} live continuations"
    return None

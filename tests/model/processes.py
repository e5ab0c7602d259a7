"""The next action of a process, or its death instead."""

from __future__ import annotations

from collections.abc import Iterator

from tests.model.checkpoint import Written, checkpoint, deletes, lost, sends
from tests.model.delivery import fenced, next_rollback, verdict
from tests.model.rollback import rollback_checkpoint
from tests.model.scenario import Mutant, Scenario
from tests.model.state import WRITES_NO_MORE, Process, State, buried, with_message, with_process, without_message
from tests.model.transition import Transition, fresh_nonce, spend
from tests.model.verbs import into_inbox

BACKWARD_PLACES = frozenset({"undo", "undo mark", "undo exhaust", "end"})


def actions(state: State, process: Process, scenario: Scenario) -> Iterator[Transition]:
    if process.nonce:
        yield retried(state, process, scenario)
        return
    match process.place:
        case "send":
            sent = with_message(state, process.revision)
            following = None if process.kind == "client" else deletes(process)
            yield Transition(f"{process.kind} sends", with_process(sent, process, following))
        case "delete":
            yield from deleting(state, process)
        case "write":
            into = state._replace(head=into_inbox(state.head, scenario))
            yield Transition("client writes its message", with_process(into, process, process._replace(place="send")))
        case "read":
            reader = process._replace(place="send", revision=state.head.revision)
            yield Transition("client reads the revision", with_process(state, process, reader))
        case "body":
            for outcome in scenario.workflow[process.step].outcomes:
                if outcome != "poison":
                    yield from committing(ran(state, process), process, outcome, scenario)
        case "undo":
            for outcome in scenario.workflow[process.step].undo:
                if outcome != "poison":
                    yield from committing(undid(state), process, outcome, scenario)
        case _:
            yield from committing(state, process, process.place, scenario)


def committing(state: State, process: Process, outcome: str, scenario: Scenario) -> Iterator[Transition]:
    """A checkpoint, once with its answer heard and, if the budget allows, once with its answer lost."""
    if lost(state.head, process, scenario.broken):
        yield leaving(state, process, scenario)
        return
    write = rollback_checkpoint if process.place in BACKWARD_PLACES else checkpoint
    written = write(state.head, process, outcome, scenario)
    label = f"worker commits {outcome} {process.step}: {written.head.status}, {written.process.place}"
    yield Transition(label, committed(state, process, written))
    if state.faults.lost_answers and written.head is not state.head:
        nonce = fresh_nonce(state)
        unheard = written._replace(
            head=written.head._replace(nonce=nonce), process=written.process._replace(nonce=nonce)
        )
        yield Transition(label + ", answer lost", spend(committed(state, process, unheard), "lost_answers"), fault=True)


def leaving(state: State, process: Process, scenario: Scenario) -> Transition:
    """Who has lost its lease looks again what becomes of its message: the table of deliveries decides (rule 3)."""
    head = state.head
    message = next((message for message in state.messages if message.id == process.message), None)
    decision = "delete" if message is None else verdict(head, message, scenario.broken)
    if decision == "resend":
        resent = state._replace(head=fenced(head, scenario.broken))
        return Transition("a late worker resends", with_process(resent, process, sends(process, head.revision)))
    following = deletes(process) if decision == "delete" else None
    return Transition(f"a late worker leaves: {decision}", with_process(state, process, following))


def committed(state: State, process: Process, written: Written) -> State:
    """The checkpoint is in the table; the stream relays it where rule 8 says so."""
    head, truth = written.head, state.truth
    if head.recorded > state.head.recorded:
        truth = truth._replace(touched=frozenset(), bodies=0)
    if head.rolled_back != state.head.rolled_back:
        truth = truth._replace(undos=0)
    if head.lease == "held" or head.claims == 0:
        truth = truth._replace(died=False)
    after = with_process(state._replace(head=head, truth=truth), process, written.process)
    return with_message(after, written.head.revision) if written.relayed else after


def retried(state: State, process: Process, scenario: Scenario) -> Transition:
    """Rules 2 and 4: the write whose answer was lost is refused when it is tried again. By the nonce it is known as mine.

    The process then goes on as if the answer had been heard, in the direction of its claim: a verb that came in meanwhile
    is met by its next checkpoint. Another's nonce means that the lease was given back by this very write, and taken since.
    """
    head, heard = state.head, process._replace(nonce=0)
    if scenario.broken is Mutant.OWN_CLAIM_NOT_RECOGNISED and process.place not in WRITES_NO_MORE:
        return Transition("worker takes its own lease for another's", with_process(state, process, None))
    if scenario.broken is Mutant.OWN_CLAIM_TURNS and head.status == "cancelling" and process.place == "body":
        undoing = heard._replace(place="undo", step=next_rollback(head, scenario))
        return Transition(
            "worker finds its own nonce, and a cancelled execution", with_process(state, process, undoing)
        )
    if scenario.broken is Mutant.REVISION_NOT_CHECKED and process.place in WRITES_NO_MORE and head.lease == "free":
        twice = state._replace(head=head._replace(recorded=head.recorded + 1))
        return Transition("worker writes the same checkpoint again", with_process(twice, process, heard))
    if head.nonce == process.nonce:
        return Transition("worker finds its own nonce", with_process(state, process, heard))
    if process.place in WRITES_NO_MORE:
        return Transition("worker finds another's nonce and leaves", with_process(state, process, deletes(heard)))
    return leaving(with_process(state, process, heard), heard, scenario)


def deleting(state: State, process: Process) -> Iterator[Transition]:
    gone = with_process(state, process, None)
    yield Transition(f"{process.kind} deletes its message", without_message(gone, process.message))
    if state.faults.duplicates and any(message.id == process.message for message in state.messages):
        yield Transition("a deleted message is delivered again", spend(gone, "duplicates"), fault=True)


def ran(state: State, process: Process) -> State:
    """The body ran (or, with its start recorded, counts as having run)."""
    truth = state.truth
    return state._replace(truth=truth._replace(started=truth.started | {process.step}, bodies=truth.bodies + 1))


def undid(state: State) -> State:
    """The body of a rollback ran."""
    return state._replace(truth=state.truth._replace(undos=state.truth.undos + 1))


def deaths(state: State, process: Process, scenario: Scenario) -> Iterator[Transition]:
    """A process can die between any two of its actions."""
    if not process.nonce:
        yield from poisonings(state, process, scenario)
    if not state.faults.crashes or (process.kind == "client" and not scenario.clients_die):
        return
    before = spend(state, "crashes")
    if process.place == "body" and (process.marked or not process.nonce):
        yield Transition(
            f"worker dies in body {process.step}", died(ran(before, process), process, scenario), fault=True
        )
    if process.place == "undo" and (process.marked or not process.nonce):
        yield Transition(f"worker dies in rollback {process.step}", died(undid(before), process, scenario), fault=True)
    if process.place not in ("body", "undo") or not process.marked:
        yield Transition(f"{process.kind} dies before {process.place}", died(before, process, scenario), fault=True)


def poisonings(state: State, process: Process, scenario: Scenario) -> Iterator[Transition]:
    """A poisoned body kills its process; so does a poisoned rollback, until its message is a dead letter."""
    if process.place == "body" and "poison" in scenario.workflow[process.step].outcomes:
        yield Transition(f"body {process.step} kills its process", died(ran(state, process), process, scenario))
    if process.place == "undo" and "poison" in scenario.workflow[process.step].undo:
        killed = died(undid(state), process, scenario)
        yield Transition(f"rollback {process.step} kills its process", killed)
        yield Transition(f"rollback {process.step} kills its process once too often", buried(killed, process.message))


def died(state: State, process: Process, scenario: Scenario) -> State:
    """Its message comes again; its lease stays until its time is over.

    As far as anyone can tell afterwards, the body of the step that it was at, or was coming to, may have run.
    """
    head, truth = state.head, state.truth
    if head.lease == "held" and process.fence == head.fence:
        head, truth = head._replace(lease="abandoned"), truth._replace(died=True)
        steps = [index for index, operation in enumerate(scenario.workflow) if operation.kind == "step"]
        coming = next((index for index in steps if index >= process.step), None)
        if process.place not in BACKWARD_PLACES and coming is not None:
            truth = truth._replace(touched=truth.touched | {coming})
    return with_process(state._replace(head=head, truth=truth), process, None)

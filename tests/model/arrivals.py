"""A message arrives: at a worker, or from the dead-letter queue."""

from __future__ import annotations

from collections.abc import Iterator

from tests.model.checkpoint import deletes, sends
from tests.model.delivery import claim, fenced, verdict
from tests.model.recovery import dead_letter
from tests.model.scenario import Mutant, Scenario
from tests.model.state import AT_REST, Message, Process, State, with_message, with_process
from tests.model.transition import Transition, fresh_nonce, named, spend


def arrivals(state: State, scenario: Scenario) -> Iterator[Transition]:
    """A message that nobody handles may come at any time: delayed, early, late. One that is handled may come again."""
    handled = {process.message for process in state.processes}
    workers = sum(process.kind == "worker" for process in state.processes)
    for message in state.messages:
        if message.dead:
            if message.id not in handled:
                yield from at_dead_letter_handler(state, message, scenario)
        elif workers < scenario.workers:
            if message.id not in handled:
                yield from at_worker(state, message, scenario)
            elif state.faults.duplicates:
                for label, reached, _ in at_worker(spend(state, "duplicates"), message, scenario):
                    yield Transition(label + ", delivered again while in flight", reached, fault=True)


def at_worker(state: State, message: Message, scenario: Scenario) -> Iterator[Transition]:
    """Rule 3. A held message is simply still there, and comes again; so is one whose version is not deployed yet."""
    head, worker, which = state.head, Process("worker", "", message.id), named(state, message)
    decision = verdict(head, message, scenario.broken)
    if decision == "delete":
        rests = state._replace(head=fenced(head, scenario.broken)) if head.status in AT_REST else state
        yield Transition(f"a worker is about to delete {which}", with_process(rests, None, deletes(worker)))
    if decision == "resend":
        resent = state._replace(head=fenced(head, scenario.broken))
        yield Transition(f"a worker resends for {which}", with_process(resent, None, sends(worker, head.revision)))
    if decision == "hold" and scenario.broken is Mutant.HELD_AND_SENT:
        yield Transition(f"a worker holds {which} and sends another", with_message(state, head.revision))
    if decision == "claim" and not state.faults.deploying:
        claimed, claimer = claim(head, message, scenario)
        label = f"a worker claims with {which}: {claimer.place} {claimer.step}"
        yield Transition(label, with_process(state._replace(head=claimed), None, claimer))
        if state.faults.lost_answers:
            nonce = fresh_nonce(state)
            unheard = state._replace(head=claimed._replace(nonce=nonce))
            unheard = with_process(unheard, None, claimer._replace(nonce=nonce))
            yield Transition(label + ", answer lost", spend(unheard, "lost_answers"), fault=True)


def at_dead_letter_handler(state: State, message: Message, scenario: Scenario) -> Iterator[Transition]:
    """Rule 11."""
    handled = dead_letter(state.head, message, scenario, known=not state.faults.deploying)
    if handled.process is None:
        return
    head = handled.head
    after = with_process(state._replace(head=head), None, handled.process)
    if handled.relayed:
        after = with_message(after, head.revision)
    what = f"{head.status}, dead {head.dead}, {handled.process.place}"
    yield Transition(f"the dead-letter handler takes {named(state, message)}: {what}", after)

"""Time, the sweeper, the clients, and the faults that no process commits."""

from __future__ import annotations

from collections.abc import Iterator

from tests.model.recovery import swept
from tests.model.scenario import Scenario
from tests.model.state import TERMINAL, State, buried, with_message, with_process, without_message
from tests.model.transition import Transition, named, spend
from tests.model.verbs import ask


def time(state: State, scenario: Scenario) -> Iterator[Transition]:
    """Leases and waits end, deploys are completed, and the sweeper comes by where nothing else is on its way."""
    head = state.head
    if head.lease == "abandoned":
        yield Transition("the lease of the dead process ends", state._replace(head=head._replace(lease="free")))
    if head.wake == "pending":
        due = "now" if head.due == "later" else head.due
        yield Transition("wake_at passes", state._replace(head=head._replace(wake="due", due=due)))
    if state.faults.deploying:
        deployed = state._replace(faults=state.faults._replace(deploying=False))
        yield Transition("the deploy is complete", deployed)
    current = any(message.revision == head.revision for message in state.messages)
    if scenario.sweeper and swept(head) and not current and not state.processes:
        yield Transition("the sweeper sends", with_message(state, head.revision))


def faults(state: State) -> Iterator[Transition]:
    """One message too many, one too few, one in the dead-letter queue."""
    if state.faults.late and state.head.lease == "held":
        ends = spend(state, "late")
        over = ends._replace(head=state.head._replace(lease="free"))
        yield Transition("the lease ends while its holder works", over, fault=True)
    handled = {process.message for process in state.processes}
    running = state.head.status not in TERMINAL
    if state.faults.duplicates and running:
        extra = with_message(spend(state, "duplicates"), state.head.revision)
        yield Transition("one more continuation of the current revision", extra, fault=True)
    for message in state.messages:
        if message.id in handled or message.dead:
            continue
        if state.faults.losses and running:
            lost = without_message(spend(state, "losses"), message.id)
            yield Transition(f"{named(state, message)} is lost", lost, fault=True)
        if state.faults.dead_letters and running:
            dead = buried(spend(state, "dead_letters"), message.id)
            yield Transition(f"{named(state, message)} becomes a dead letter", dead, fault=True)


def clients(state: State, scenario: Scenario) -> Iterator[Transition]:
    """Rule 7: each verb at any time. Liveness does not count on them."""
    for verb in state.faults.verbs:
        asked = ask(state.head, verb, scenario)
        if asked is None:
            continue
        left = tuple(other for other in state.faults.verbs if other != verb)
        after = with_process(
            state._replace(head=asked.head, faults=state.faults._replace(verbs=left)), None, asked.client
        )
        if asked.relayed:
            after = with_message(after, asked.head.revision)
        yield Transition(f"a client asks: {verb}", after, fault=True)

"""All that can happen next."""

from __future__ import annotations

from collections.abc import Iterator

from tests.model.arrivals import arrivals
from tests.model.environment import clients, faults, time
from tests.model.processes import actions, deaths
from tests.model.scenario import Scenario
from tests.model.state import TERMINAL, WRITES_NO_MORE, Faults, Head, Process, State, Truth
from tests.model.transition import Transition


def initial(scenario: Scenario) -> State:
    """The head is written; the client is about to send the first continuation."""
    budgets = Faults(
        scenario.crashes,
        scenario.duplicates,
        scenario.lost_answers,
        scenario.losses,
        scenario.dead_letters,
        scenario.late,
        scenario.deploying,
        tuple(sorted(scenario.verbs)),
    )
    return State(Head(), (), (Process("client", "send"),), Truth(), budgets)


def transitions(state: State, scenario: Scenario) -> Iterator[Transition]:
    """Nothing more can go wrong once the execution has ended and nobody is left who would write."""
    writers = [process for process in state.processes if process.place not in WRITES_NO_MORE]
    if state.head.status in TERMINAL and not writers:
        return
    yield from arrivals(state, scenario)
    yield from time(state, scenario)
    yield from faults(state)
    yield from clients(state, scenario)
    for process in dict.fromkeys(state.processes):
        yield from actions(state, process, scenario)
        yield from deaths(state, process, scenario)

"""Breadth-first search through all states of a scenario, and backward search from where an execution may rest.

Safety is checked on every transition. Liveness is "there is a way": from every reachable state, without a further fault
and without a further wish of a client, some continuation reaches rest. Breadth first, the first counterexample is a
shortest one. A state from which nothing at all can happen is reported when it is met; the rest after the search.
"""

from __future__ import annotations

from typing import NamedTuple

from tests.model.properties import at_rest, violation
from tests.model.scenario import Scenario
from tests.model.state import State, canonical
from tests.model.world import initial, transitions


class Report(NamedTuple):
    states: int
    failure: str | None  # what went wrong first, or None
    trace: tuple[str, ...]  # how it came to it

    def __str__(self) -> str:
        steps = "".join(f"\n  {number:2} {label}" for number, label in enumerate(self.trace, 1))
        return f"{self.states} states: {self.failure or 'no violation, no stuck state'}{steps}"


def check(scenario: Scenario) -> Report:
    """Explores the scenario and stops at the first failure."""
    return Search(scenario).run()


class Search:
    def __init__(self, scenario: Scenario) -> None:
        start = canonical(initial(scenario))
        self.scenario = scenario
        self.states = [start]
        self.numbers: dict[State, int] = {start: 0}
        self.reached_by: list[tuple[int, str]] = [(0, "")]
        self.comes_from: list[list[int]] = [[]]  # by transitions that are no faults

    def run(self) -> Report:
        number = 0
        while number < len(self.states):
            failure = self.explore(number)
            if failure:
                return failure
            number += 1
        return self.stuck()

    def explore(self, number: int) -> Report | None:
        before = self.states[number]
        moves = False
        for label, reached, fault in transitions(before, self.scenario):
            broken = violation(before, reached, self.scenario)
            if broken:
                return Report(len(self.states), broken, (*self.trace(number), label))
            after = canonical(reached)
            found = self.numbers.get(after)
            if found is None:
                found = self.numbers[after] = len(self.states)
                self.states.append(after)
                self.reached_by.append((number, label))
                self.comes_from.append([])
            if not fault and found != number:
                self.comes_from[found].append(number)
                moves = True
        if not moves and not at_rest(before):
            return Report(len(self.states), f"stuck: {before.head}", self.trace(number))
        return None

    def stuck(self) -> Report:
        """Backward from every state of rest; what is not met can't reach one."""
        todo = [number for number, state in enumerate(self.states) if at_rest(state)]
        met = set(todo)
        while todo:
            for number in self.comes_from[todo.pop()]:
                if number not in met:
                    met.add(number)
                    todo.append(number)
        for number, state in enumerate(self.states):
            if number not in met:
                return Report(len(self.states), f"stuck: {state.head}", self.trace(number))
        return Report(len(self.states), None, ())

    def trace(self, number: int) -> tuple[str, ...]:
        labels = []
        while number:
            number, label = self.reached_by[number]
            labels.append(label)
        return tuple(reversed(labels))

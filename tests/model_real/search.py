"""All states of rest that an execution reaches within the bounds of a case, and whether each comes to an end."""

from __future__ import annotations

from dataclasses import dataclass, field

from durable.protocol.head import AT_REST
from durable.usercode.durations import FOREVER
from tests.model_real.cases import Case
from tests.model_real.episodes import episodes
from tests.model_real.states import canonical
from tests.model_real.truth import Violation
from tests.model_real.world import State, World


@dataclass
class Report:
    """What a search has seen."""

    states: int = 0  # of rest
    schedules: int = 0
    failure: str = ""
    trace: list[str] = field(default_factory=list)
    complete: bool = True

    def __str__(self) -> str:
        steps = "".join(f"\n  {number:2} {label}" for number, label in enumerate(self.trace, 1))
        bound = "" if self.complete else ", cut off"
        return (
            f"{self.schedules} schedules, {self.states} states of rest{bound}: {self.failure or 'nothing wrong'}{steps}"
        )


def explore(case: Case, limit: int = 1_000_000) -> Report:
    """Search until everything within the bounds was seen, or so many schedules were run, or something is wrong."""
    return _Search(case, limit).run()


class _Search:
    def __init__(self, case: Case, limit: int) -> None:
        self._world = World(case)
        self._limit = limit
        self._known: dict[object, int] = {canonical(self._world): 0}
        self._states: list[State | None] = [self._world.save()]
        self._came: list[tuple[int, list[str]]] = [(0, [])]
        self._comes_from: list[list[int]] = [[]]  # by episodes without a fault
        self._ends = {0} if self._at_end() else set()
        self._report = Report()

    def run(self) -> Report:
        number = 0
        while number < len(self._states) and self._report.complete and not self._report.failure:
            state = self._states[number]
            assert state is not None
            self._from(number, state)
            self._states[number] = None  # it is not gone back to
            number += 1
        self._report.states = len(self._states)
        if self._report.complete and not self._report.failure:
            self._find_stuck()
        return self._report

    def _from(self, number: int, state: State) -> None:
        try:
            for episode in episodes(self._world, state):
                self._report.schedules += 1
                self._reach(number, episode.labels, faulty=episode.faulty)
                if self._report.schedules >= self._limit:
                    self._report.complete = False
                    return
        except Violation as violation:
            self._report.failure = str(violation)
            self._report.trace = [*self._trace(number), *violation.__notes__[-1].strip().split("\n  ")]

    def _reach(self, number: int, labels: list[str], *, faulty: bool) -> None:
        key = canonical(self._world)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = len(self._states)
            self._states.append(self._world.save())
            self._came.append((number, list(labels)))
            self._comes_from.append([])
            if self._at_end():
                self._ends.add(found)
        if not faulty and found != number:
            self._comes_from[found].append(number)

    def _at_end(self) -> bool:
        """Whether an execution may stay as it is."""
        head = self._world.head
        asleep = head.wake == FOREVER and head.parked(self._world.time.now)
        return head.terminal or head.status in AT_REST or asleep

    def _find_stuck(self) -> None:
        todo, met = list(self._ends), set(self._ends)
        while todo:
            for number in self._comes_from[todo.pop()]:
                if number not in met:
                    met.add(number)
                    todo.append(number)
        stuck = [number for number in range(len(self._states)) if number not in met]
        if stuck:
            self._report.failure = "from here no way leads to an end without another fault"
            self._report.trace = self._trace(stuck[0])

    def _trace(self, number: int) -> list[str]:
        labels: list[str] = []
        while number:
            number, came = self._came[number]
            labels = [*came, *labels]
        return labels

"""The plan of kills: which process dies, of which transfer, at which line, drawn from a seed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random

from infra.demo.behaviour import BACKWARD, FOR_EVER, Operation, misbehaviour, reached
from infra.demo.scenario import Scenario, Transfer


class Kind(StrEnum):
    """Where a process is when it is killed."""

    BODY = "in a body"
    SEND = "between checkpoint and send"
    ROLLBACK = "in a rollback"


class Moment(StrEnum):
    """Before the call that is named, or after its answer and before anything else."""

    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, slots=True)
class Point:
    """A place that the execution of a transfer comes to: a call of a bank, or the send of a continuation."""

    kind: Kind
    transfer: str
    call: str  # an operation of the bank, or a continuation
    moment: Moment

    def __str__(self) -> str:
        return f"{self.transfer} {self.kind}, {self.moment} {self.call}"


def plan(scenario: Scenario, count: int, seed: int) -> list[Point]:
    """`count` different points, of each kind in turn, and of different transfers as far as there are enough."""
    random = Random(seed)
    places = {kind: _shuffled(random, list(_points(scenario, kind))) for kind in Kind}
    if count > (most := sum(len(points) for points in places.values())):
        raise ValueError(f"{len(scenario.transfers)} transfers come to {most} points to be killed at, not to {count}")
    chosen: list[Point] = []
    hit: set[str] = set()
    kinds = list(Kind)
    while len(chosen) < count:
        kind = kinds[0]
        kinds.append(kinds.pop(0))
        if points := places[kind]:
            point = next((each for each in points if each.transfer not in hit), points[0])
            points.remove(point)
            hit.add(point.transfer)
            chosen.append(point)
    return chosen


def continuation(number: int) -> str:
    """The call that a send is: of the first continuation whose revision is at least this, for revisions leave gaps."""
    return f"continuation {number}"


def sends(point: Point, transfer: str, revision: int) -> bool:
    """Whether the point is at the send of this continuation."""
    if point.kind is not Kind.SEND or point.transfer != transfer:
        return False
    return int(point.call.split()[-1]) <= revision


def _points(scenario: Scenario, kind: Kind) -> Iterator[Point]:
    early = -(-len(scenario.transfers) * 4 // 5)  # or the end would be a wait for the leases of the last to be killed
    for transfer in scenario.transfers[:early]:
        asked, completes = reached(scenario, transfer)
        match kind:
            case Kind.BODY:
                yield from _around(kind, scenario, transfer, asked)
            case Kind.ROLLBACK if not completes:
                yield from _around(kind, scenario, transfer, [BACKWARD[each] for each in asked[:-1]])
            case Kind.SEND if completes:
                yield from (Point(kind, transfer.id, continuation(step), Moment.BEFORE) for step in (1, 2, 3))


def _around(kind: Kind, scenario: Scenario, transfer: Transfer, calls: Sequence[Operation]) -> Iterator[Point]:
    """Both sides of each call, but not the far side of one that may stay without an answer."""
    for call in calls:
        yield Point(kind, transfer.id, call, Moment.BEFORE)
        parties = (scenario.accounts[transfer.source], scenario.accounts[transfer.target])
        if not any(misbehaviour(party, call, 1) or misbehaviour(party, call, FOR_EVER) for party in parties):
            yield Point(kind, transfer.id, call, Moment.AFTER)


def _shuffled(random: Random, points: list[Point]) -> list[Point]:
    random.shuffle(points)
    return points

from __future__ import annotations

from collections import Counter

import pytest

from infra.demo.behaviour import BACKWARD, reached
from infra.demo.kills import Kind, Moment, Point, plan
from infra.demo.scenario import Scenario, Transfer
from tests.demo.conftest import CLOSED, OPEN, OTHER, scenario


def test_the_plan_is_the_same_for_one_seed_and_another_for_another() -> None:
    transfers = Scenario.load()
    assert plan(transfers, 24, seed=1) == plan(transfers, 24, seed=1)
    assert plan(transfers, 24, seed=1) != plan(transfers, 24, seed=2)


@pytest.mark.parametrize("seed", range(20))
def test_the_plan_has_each_kind_as_often_and_hits_no_transfer_twice(seed: int) -> None:
    points = plan(Scenario.load(), 24, seed)
    assert Counter(point.kind for point in points) == {Kind.BODY: 8, Kind.SEND: 8, Kind.ROLLBACK: 8}
    assert len({point.transfer for point in points}) == 24


@pytest.mark.parametrize("seed", range(20))
def test_the_short_plan_has_each_kind_too(seed: int) -> None:
    points = plan(Scenario.load(20), 5, seed)
    assert Counter(point.kind for point in points) == {Kind.BODY: 2, Kind.SEND: 2, Kind.ROLLBACK: 1}


def test_more_kills_than_transfers_hit_different_points() -> None:
    points = plan(Scenario.load(20), 60, seed=3)
    assert len(set(points)) == 60


def test_more_kills_than_there_are_points_are_refused() -> None:
    with pytest.raises(ValueError, match=r"1 transfers come to \d+ points to be killed at, not to 99"):
        plan(Scenario.load(1), 99, seed=1)


def test_the_points_are_those_that_a_transfer_comes_to() -> None:
    good, bad = Transfer("T1", OPEN.number, OTHER.number, 100, ""), Transfer("T2", OPEN.number, CLOSED.number, 100, "")
    points = plan(scenario(OPEN, OTHER, CLOSED, transfers=(good, bad)), 17, seed=1)
    assert {point for point in points if point.transfer == "T2"} == {
        Point(Kind.BODY, "T2", "debit", Moment.BEFORE),
        Point(Kind.BODY, "T2", "debit", Moment.AFTER),
        Point(Kind.BODY, "T2", "credit", Moment.BEFORE),
        Point(Kind.BODY, "T2", "credit", Moment.AFTER),
        Point(Kind.ROLLBACK, "T2", "credit-back", Moment.BEFORE),
        Point(Kind.ROLLBACK, "T2", "credit-back", Moment.AFTER),
    }
    assert {point.call for point in points if point.kind is Kind.SEND} == {f"continuation {n}" for n in (1, 2, 3)}


def test_every_rollback_that_is_planned_undoes_a_step_that_completes() -> None:
    transfers = Scenario.load()
    by_id = {transfer.id: transfer for transfer in transfers.transfers}
    for point in plan(transfers, 60, seed=5):
        if point.kind is Kind.ROLLBACK:
            asked, completes = reached(transfers, by_id[point.transfer])
            assert not completes
            assert point.call in [BACKWARD[each] for each in asked[:-1]]

"""An agent that answers, reads of a tool that failed, or gives up and has everything undone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from durable.testing import Harness
from handler.workflows.agent import BOOKINGS, MOST_TURNS, Call, Cards, Model, Reply, agent

CHARGE = Call("charge-card", {"card": "4111", "amount": "9.90"})
BOOK = Call("save-booking", {"id": "b-1", "what": "room 7"})
TRAIN = Call("queue-training", {"data": "bookings"})


@pytest.fixture
def cards(monkeypatch: pytest.MonkeyPatch) -> Cards:
    cards = Cards()
    monkeypatch.setattr("handler.workflows.agent.cards", cards)
    return cards


@pytest.fixture
def says(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Model]:
    """Lets the model reply so."""

    def say(*replies: Reply) -> Model:
        model = Model(*replies)
        monkeypatch.setattr("handler.workflows.agent.model", model)
        return model

    return say


@pytest.fixture
def bookings(durable: Harness) -> Callable[[], list[str]]:
    """What is in the table."""
    durable.tables.create(BOOKINGS, "id")
    return lambda: [item["what"]["S"] for item in durable.tables.items(BOOKINGS)]


@pytest.mark.rule("S10", "S11", "L4")
def test_it_asks_again_until_there_is_an_answer_and_does_each_thing_once(
    durable: Harness, cards: Cards, says: Callable[..., Model], bookings: Callable[[], list[str]]
) -> None:
    model = says(Reply("first I pay", [CHARGE, BOOK]), Reply("then I learn", [TRAIN]), Reply("room 7 is yours"))
    execution = durable.start(agent, "a room, please")
    for nth in (3, 9, 17):
        durable.faults.before(nth, durable.faults.die, by="Worker")
    durable.run()

    job = durable.get(model.asked[-1][-1])
    assert (execution.status, execution.output, job.output) == ("completed", "room 7 is yours", "a model of bookings")
    assert model.asked[-1][:-1] == [
        "a room, please",
        "first I pay",
        "9.90 from 4111",
        "booked room 7",
        "then I learn",
    ]
    assert (list(cards.charges.values()), bookings()) == (["9.90 from 4111"], ["room 7"])


@pytest.mark.rule("F1", "S10")
def test_a_tool_that_fails_is_for_the_model_to_read(
    durable: Harness, cards: Cards, says: Callable[..., Model], bookings: Callable[[], list[str]]
) -> None:
    model = says(Reply("twice", [BOOK, BOOK]))
    execution = durable.start(agent, "a room, please")
    durable.run()

    assert (execution.output, bookings()) == ("done", ["room 7"])
    assert model.asked[-1][-1].startswith("save-booking failed: write 1 of step.transact was refused: ")


@pytest.mark.rule("R1", "R15")
def test_when_it_finds_no_answer_all_that_its_tools_did_is_undone(
    durable: Harness, cards: Cards, says: Callable[..., Model], bookings: Callable[[], list[str]]
) -> None:
    model = says(Reply("all at once", [CHARGE, BOOK, TRAIN]), *[Reply("hm", [CHARGE])] * MOST_TURNS)
    execution = durable.start(agent, "a room, please")
    durable.run()

    (job,) = {message for asked in model.asked for message in asked[4:5]}
    assert (execution.status, execution.rollback.outcome) == ("failed", "completed")
    assert str(execution.error) == f"TerminalError: no answer in {MOST_TURNS} turns"
    assert (cards.charges, bookings(), durable.get(job).status) == ({}, [], "cancelled")

"""An order of six steps, whose fourth fails."""

from __future__ import annotations

from decimal import Decimal

import pytest

from durable.testing import Harness
from handler.workflows.place_order import Basket, Item, Shop, place_order

BASKET = Basket("Ada", [Item("book", 1), Item("pen", 2)], Decimal(30), "12 Main Street")
DONE = ["reserve book 1", "reserve pen 2", "charge Ada 30", "ship 12 Main Street", "reward Ada 30"]


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> Shop:
    shop = Shop()
    monkeypatch.setattr("handler.workflows.place_order.shop", shop)
    return shop


def test_all_six_steps_are_taken_once(durable: Harness, shop: Shop) -> None:
    execution = durable.start(place_order, BASKET)
    durable.faults.in_body(3, durable.faults.die)
    durable.faults.after(9, durable.faults.die, by="Worker")
    durable.run()

    assert (execution.status, execution.output) == ("completed", "ship 12 Main Street")
    assert shop.log == [*DONE, "confirm Ada ship 12 Main Street"]


@pytest.mark.rule("R1", "R3", "R5")
def test_when_the_fourth_fails_the_others_are_undone_in_reverse(durable: Harness, shop: Shop) -> None:
    shop.no_way_to.add(BASKET.address)
    execution = durable.start(place_order, BASKET)
    durable.run()

    assert (execution.status, execution.rollback.outcome) == ("failed", "completed")
    assert str(execution.error) == "TerminalError: no way to ship 12 Main Street"
    assert shop.log == [*DONE[:3], "undo charge Ada 30", "undo reserve pen 2", "undo reserve book 1"]
    assert shop.done == {}


@pytest.mark.rule("R8", "E3")
def test_so_they_are_wherever_the_process_dies(shop: Shop) -> None:
    for nth in range(1, 40, 3):
        shop.log.clear()
        shop.done.clear()
        shop.no_way_to = {BASKET.address}
        with Harness(workflows=[place_order], steps_per_invocation=2) as durable:
            durable.faults.before(nth, durable.faults.die, by="Worker")
            execution = durable.start(place_order, BASKET)
            durable.run()

            assert (execution.rollback.outcome, shop.done, len(shop.log)) == ("completed", {}, 6)


def test_an_empty_basket_is_refused_before_anything_is_done(durable: Harness, shop: Shop) -> None:
    execution = durable.start(place_order, Basket("Ada", [], Decimal(0), "12 Main Street"))
    durable.run()

    assert (str(execution.error), shop.log) == ("TerminalError: there is nothing in the basket", [])

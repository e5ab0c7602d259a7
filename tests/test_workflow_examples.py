"""The examples of docs/workflows.md do what the page says of them."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from types import ModuleType
from typing import Any

import pytest

from durable import AlreadyStarted, Execution
from durable.testing import Harness
from tests.test_documents import ROOT, program

pytestmark = pytest.mark.usefixtures("store")


@pytest.fixture(scope="module")
def page() -> ModuleType:
    module = program(ROOT / "docs" / "workflows.md")
    assert module is not None
    return module


@pytest.fixture
def harness(page: ModuleType) -> Any:
    with Harness(workflows=[value for value in vars(page).values() if type(value).__name__ == "Workflow"]) as durable:
        yield durable


NOTHING = object()
ENDS = [
    ("greet", "ada", "Good day, Ada"),
    ("fetch", NOTHING, "after 3 attempts"),
    ("notify", NOTHING, None),
    ("countdown", 3, "lift-off"),
    ("approval", NOTHING, "expired"),
    ("remind", NOTHING, "2031-03-20"),
    ("build", NOTHING, "artefact-7"),
    ("prepare", NOTHING, None),
    ("train", NOTHING, 7),
    ("draw", NOTHING, True),
    ("ship", NOTHING, "new"),
    ("collect", NOTHING, 0),
]


def ended(durable: Harness, workflow: Any, given: Any = NOTHING) -> Execution[Any, Any]:
    execution = durable.start(workflow) if given is NOTHING else durable.start(workflow, given)
    durable.run()
    return execution


@pytest.mark.parametrize(("name", "given", "output"), ENDS, ids=[end[0] for end in ENDS])
def test_an_example_ends_with(harness: Harness, page: ModuleType, name: str, given: Any, output: Any) -> None:
    execution = ended(harness, getattr(page, name), given)
    assert (execution.status, execution.error) == ("completed", None)
    assert execution.output == output


@pytest.mark.parametrize(
    ("name", "card", "output"),
    [
        ("pay", "4000", "charge-4000"),
        ("pay_or_review", "stolen", "manual review: the card is stolen"),
        ("pay_and_match", "stolen", "critical: the card is stolen"),
        ("authorise_and_capture", "4000", "captured"),
        ("authorise_and_capture", "stolen", "payment/authorise failed"),
    ],
)
def test_an_order_ends_with(harness: Harness, page: ModuleType, name: str, card: str, output: str) -> None:
    assert ended(harness, getattr(page, name), page.Order(card, Decimal("40.00"))).output == output


def test_the_rollback_of_the_example_runs(harness: Harness, page: ModuleType) -> None:
    execution = ended(harness, page.transfer_money, Decimal("1.50"))
    assert (execution.status, execution.rollback.outcome) == ("failed", "completed")


def test_messages_are_collected_and_a_repeated_one_once(harness: Harness, page: ModuleType) -> None:
    execution = harness.start(page.collect)
    for _ in range(2):
        execution.send("payments", page.Payment("p-1", 40), message_id="p-1")
    execution.send("payments", page.Payment("p-2", 2))
    harness.run()
    assert execution.output == 42


def test_a_question_is_answered(harness: Harness, page: ModuleType) -> None:
    execution = harness.start(page.counter)
    harness.run()
    execution.send(page.questions, "seven", message_id="q")
    harness.run()
    assert execution.status == "completed"
    assert [entry.kind for entry in execution.history] == ["queue", "reply"]


def test_an_approval_comes_in_time(harness: Harness, page: ModuleType) -> None:
    execution = harness.start(page.approval)
    harness.run(duration=timedelta(days=1))
    execution.send("decisions", "yes")
    harness.run()
    assert execution.output == "yes"


def test_the_actions_of_the_example_read_and_change(harness: Harness, page: ModuleType) -> None:
    execution = harness.start(page.prepare)
    execution.action("annotate", "waiting for wood")
    harness.run()
    assert execution.action(page.get_state) == page.Progress(["hull", "mast"], "waiting for wood")


def test_a_start_is_repeated_as_the_page_says(harness: Harness, page: ModuleType) -> None:
    harness.start(page.greet, "ada", execution_id="a")
    assert harness.start(page.greet, "ada", execution_id="a").id == "a"
    with pytest.raises(AlreadyStarted):
        harness.start(page.greet, "bob", execution_id="a")

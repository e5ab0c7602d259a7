"""An action that raises, whatever it raises, answers its caller with a 500, and the API's process lives on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from durable import Action, Context, workflow
from durable.testing import Harness
from tests.handler.conftest import Ask

pytestmark = pytest.mark.rule("E10", "R17")


class Panic(BaseException):
    """What a library raises that wants no `except Exception` to see it."""


RAISED = {
    "panic": lambda: Panic("a secret"),
    "exit": lambda: SystemExit("a secret"),
    "cancelled": lambda: asyncio.CancelledError("a secret"),
    "generator": lambda: GeneratorExit("a secret"),
    "group": lambda: BaseExceptionGroup("a secret", [Panic("a secret"), SystemExit(1)]),
    "value": lambda: ValueError("a secret"),
}


@workflow(state=dict)
def cart(ctx: Context[dict[str, int]]) -> None:
    ctx.sleep("look around", 600)


@cart.action
def look(action: Action[dict[str, int]], what: str) -> None:
    raise RAISED[what]()


@cart.action(read_only=False)
def change(action: Action[dict[str, int]], what: str) -> None:
    action.state["changed"] = 1
    raise RAISED[what]()


@pytest.fixture
def durable() -> Iterator[Harness]:
    with Harness(workflows=[cart]) as harness:
        harness.start(cart, execution_id="one")
        harness.run(duration=60)
        yield harness


@pytest.mark.parametrize("what", RAISED)
@pytest.mark.parametrize("action", ["look", "change"])
def test_what_an_action_raises_is_a_fault_and_changes_nothing(
    ask: Ask, durable: Harness, action: str, what: str
) -> None:
    code, answer = ask("POST", f"/executions/one/actions/{action}", f'{{"what": "{what}"}}')

    assert (code, answer["error"], "secret" in str(answer)) == (500, "InternalError", False)
    assert [each.function for each in durable.invocations if each.failed] == []
    assert (durable.get("one").state, durable.get("one").status) == ({}, "waiting")

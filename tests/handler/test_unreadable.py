"""An execution of which a part can't be read is shown without that part; an empty key is no key."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest

from durable import CodecError, Context, Step, workflow
from durable.testing import Harness
from tests.handler.conftest import Ask

pytestmark = pytest.mark.rule("E10")


@dataclass
class Order:
    id: str


class Broken:
    """The first document of an execution: it can't be made."""

    def __init__(self) -> None:
        raise SystemExit("no document")


@pytest.fixture
def gone() -> Iterator[ModuleType]:
    """A module whose class is there when it is recorded, and gone when it is read."""
    module = ModuleType("module_that_goes")
    sys.modules["module_that_goes"] = module
    exec("from dataclasses import dataclass\n@dataclass\nclass Receipt:\n    id: str\n", module.__dict__)
    yield module
    sys.modules.pop("module_that_goes", None)


@pytest.mark.parametrize("typed", [False, True], ids=["tagged", "typed"])
def test_what_can_not_be_read_is_named_and_the_rest_is_shown(gone: ModuleType, typed: bool) -> None:
    def remember(step: Step) -> None:
        step.state["receipt"] = gone.Receipt("in the state")

    def order(ctx: Context) -> Any:
        ctx.step("remember", remember)
        return gone.Receipt("the output")

    if typed:
        order.__annotations__["return"] = gone.Receipt
    made = workflow(name="order", state=dict)(order)
    made.action(name="look")(lambda action: action.state)
    with Harness(workflows=[made]) as harness:
        harness.start(made, execution_id="one")
        harness.run()
        if typed:
            order.__annotations__["return"] = Order  # which has the fields of the Receipt of then
            gone.Receipt.__annotations__["id"] = int
            del gone.Receipt
        else:
            sys.modules.pop("module_that_goes")
        code, answer = ask_of(harness, "GET", "/executions/one")
        history_code, history = ask_of(harness, "GET", "/executions/one/history")
        with pytest.raises(CodecError, match="the state can't be read"):
            _ = harness.get("one").state
        with pytest.raises(CodecError, match="the state can't be read"):
            harness.get(made, "one").action("look")

    assert (code, answer["status"], answer["workflow"], answer["error"]) == (200, "completed", "order", None)
    assert "module_that_goes:Receipt" in answer["state"]
    assert answer["state"].startswith("[the state can't be read: $.receipt is of the class")
    assert answer["output"] == {"id": "the output"} if typed else answer["output"].startswith("[$ is of the class")
    assert (history_code, [entry["path"] for entry in history["history"]]) == (200, ["remember"])


def test_a_document_that_can_not_be_made_is_named() -> None:
    @workflow(state=Broken)
    def order(ctx: Context) -> str:
        return "done"

    with Harness(workflows=[order]) as harness:
        harness.start(order, execution_id="one")
        harness.run()
        code, answer = ask_of(harness, "GET", "/executions/one")

    assert (code, answer["output"], answer["state"]) == (200, "done", "[SystemExit: no document]")


def ask_of(harness: Harness, method: str, path: str) -> tuple[int, Any]:
    """Sends a request to the API of this harness."""
    import json
    from pathlib import Path

    event = json.loads((Path(__file__).parents[1] / "events" / "http.json").read_text())
    event |= {"rawPath": path, "body": None}
    event["requestContext"]["http"] |= {"method": method, "path": path}
    invocation = harness.invoke("Api", event)
    assert invocation.error is None
    return invocation.answer["statusCode"], json.loads(invocation.answer["body"])


@pytest.mark.rule("E2")
@pytest.mark.parametrize("key", ["", " ", "\t"])
@pytest.mark.parametrize("path", ["/workflows/ping/executions", "/executions/one/queues/questions"])
def test_an_empty_key_is_refused_and_starts_nothing(ask: Ask, durable: Harness, path: str, key: str) -> None:
    sent = len(durable.sent)
    code, answer = ask("POST", path, "1" if "queues" in path else None, headers={"idempotency-key": key})

    assert (code, answer["error"], answer["field"]) == (400, "BadRequest", "Idempotency-Key")
    assert answer["message"] == "the Idempotency-Key is empty: leave it out, or give each request of yours its own"
    assert len(durable.sent) == sent

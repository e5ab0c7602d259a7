"""Two releases work on one table: what the newer has written, the older leaves alone until it is newer too (E12)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest

from durable import Context, Execution, Step, StoreError, Undo, workflow
from durable.codec import formats
from durable.engine.entries import pack
from durable.protocol.continuation import continuation_of
from durable.testing import Harness
from tests.scenarios import table
from tests.scenarios.outside import incompressible

pytestmark = pytest.mark.rule("E12")

ID = "order-1"
ran: list[str] = []


@contextmanager
def newer_release() -> Iterator[None]:
    """What runs in it is of the next release."""
    with patch.object(formats, "FORMAT", formats.FORMAT + 1):
        yield


def note(step: Step) -> str:
    ran.append(step.path)
    return step.path


def undo(undo: Undo[str]) -> None:
    ran.append(f"undo {undo.path}")


@workflow(state=dict[str, bool])
def order(ctx: Context[dict[str, bool]], text: str) -> str:
    ctx.step("first", note, rollback=undo)
    letter = ctx.queue.next("wait", "letters", timeout=3_600, completable=True)
    letter.complete("thanks")
    ctx.step("second", note, rollback=undo)
    return str(letter.body)


@order.action(read_only=False)
def touch(action: Any) -> None:
    action.state["touched"] = True


@pytest.fixture
def durable() -> Iterator[Harness]:
    ran.clear()
    with Harness(workflows=[order]) as harness:
        yield harness


def stored(durable: Harness) -> Any:
    """All of an execution, as it is."""
    with newer_release():
        return table.head(durable, ID), table.items(durable, ID)


def ends_well(durable: Harness) -> None:
    """With the newer release everywhere, nothing was lost and nothing has run twice."""
    with newer_release():
        durable.run(duration=120)
        execution = durable.get(order, ID)
        if execution.status == "waiting":
            execution.send("letters", "hello")
        durable.run()
        assert (execution.status, execution.output, ran) == ("completed", "hello", ["first", "second"])


@pytest.mark.parametrize("size", [1, 2_000, 700_000], ids=["small", "sealed", "huge"])
def test_an_execution_that_the_newer_has_started_waits_for_it(durable: Harness, size: int) -> None:
    with newer_release():
        durable.start(order, incompressible(size), execution_id=ID)
    before = stored(durable)
    durable.run(duration=300)

    assert (stored(durable), ran, len(durable.messages())) == (before, [], 1)
    ends_well(durable)


def test_one_that_the_newer_has_moved_on_waits_for_it(durable: Harness) -> None:
    durable.start(order, "old", execution_id=ID)
    with newer_release():
        durable.run(duration=60)
    assert ran == ["first"]
    with newer_release():
        durable.get(ID).send("letters", "hello")
    before = stored(durable)
    durable.run(duration=300)

    assert (stored(durable), ran, len(durable.messages())) == (before, ["first"], 1)
    ends_well(durable)


def test_what_the_older_has_written_the_newer_goes_on_with(durable: Harness) -> None:
    durable.start(order, "old", execution_id=ID)
    durable.run(duration=60)
    ends_well(durable)


@pytest.mark.parametrize(
    "ask",
    [
        lambda it: it.status,
        lambda it: it.history,
        lambda it: it.state,
        lambda it: it.pause(),
        lambda it: it.cancel(),
        lambda it: it.terminate(),
        lambda it: it.send("letters", "hello"),
        lambda it: it.send("letters", "hello", message_id="m-1"),
        lambda it: it.action(touch),
    ],
)
def test_a_client_of_the_older_changes_nothing_and_is_told(
    durable: Harness, ask: Callable[[Execution[Any, Any]], object]
) -> None:
    with newer_release():
        execution = durable.start(order, "new", execution_id=ID)
        durable.run(duration=60)
    before = stored(durable)

    with pytest.raises(StoreError, match=f"execution '{ID}' is of format 2, .* Deploy that here too"):
        ask(execution)
    with pytest.raises(StoreError, match=f"execution '{ID}' is of format 2"):
        durable.start(order, "new", execution_id=ID)
    assert stored(durable) == before
    ends_well(durable)


def test_the_older_sweeper_neither_wakes_nor_purges_what_is_newer(durable: Harness) -> None:
    with newer_release():
        durable.start(order, "new", execution_id=ID)
    before = stored(durable)
    durable.clock.advance(3_600)
    assert durable.sweep().answer == {"swept": 0}
    assert stored(durable) == before
    ends_well(durable)

    (before, _) = stored(durable)
    durable.clock.advance(40 * 86_400)
    assert durable.sweep().answer == {"swept": 0}
    assert stored(durable)[0] == before
    with newer_release():
        assert durable.sweep().answer == {"swept": 1}


def test_a_dead_letter_of_what_is_newer_stays(durable: Harness) -> None:
    with newer_release():
        durable.start(order, "new", execution_id=ID)
    before = stored(durable)
    with newer_release():
        body = continuation_of(before[0]).encode()
    source = "arn:aws:sqs:us-east-1:123456789012:durable-DeadLetterQueue"
    record = {"messageId": "m-1", "receiptHandle": "handle", "body": body, "eventSourceARN": source}

    answer = durable.invoke("DeadLetters", {"Records": [record]}).answer
    assert (answer, stored(durable)) == ({"batchItemFailures": [{"itemIdentifier": "m-1"}]}, before)


def test_a_continuation_of_the_newer_comes_back_and_is_not_rejected(durable: Harness) -> None:
    durable.start(order, "old", execution_id=ID)
    (message,) = durable.messages()
    body = json.dumps({**json.loads(message.body), "format": 2, "unheard of": True})
    source = "arn:aws:sqs:us-east-1:123456789012:durable-ContinuationQueue"
    record = {"messageId": "m-1", "receiptHandle": "handle", "body": body, "eventSourceARN": source}

    answer = durable.invoke("Worker", {"Records": [record]}).answer
    assert (answer, ran, durable.messages("RejectedQueue")) == (
        {"batchItemFailures": [{"itemIdentifier": "m-1"}]},
        [],
        [],
    )


def test_a_message_of_the_newer_waits_for_it(durable: Harness) -> None:
    execution = durable.start(order, "old", execution_id=ID)
    durable.run(duration=60)
    with newer_release():
        execution.send("letters", "hello")
    durable.run(duration=600)

    assert (execution.status, ran) == ("running", ["first"])
    ends_well(durable)


def test_a_response_of_the_newer_is_told_apart(durable: Harness) -> None:
    execution = durable.start(order, "old", execution_id=ID)
    durable.run(duration=60)
    execution.send("letters", "hello", message_id="m-1")
    with newer_release():
        durable.run()
        assert execution.send("letters", "hello", message_id="m-1", wait=0) == "thanks"
    with pytest.raises(StoreError, match="is of format 2"):
        execution.send("letters", "hello", message_id="m-1", wait=0)


@pytest.mark.parametrize("where", ["tail", "segment"])
def test_entries_of_the_newer_are_never_packed_again(durable: Harness, where: str) -> None:
    """Whatever the head says: the history is left as it is, and the lease is given back."""
    execution = durable.start(order, "old" if where == "tail" else incompressible(2_000), execution_id=ID)
    head = table.head(durable, ID)
    with newer_release():
        if where == "tail":
            table.set_head(durable, ID, {"tail": pack([*table.history(durable, ID)])})
        else:
            with durable.unrecorded():
                store = durable.application.store
                (segment,) = store.segments(head, 0)
                changed = bytes([2]) + segment.entries[1:]
                store.seal(ID, type(segment)(segment.key, segment.previous, changed))
    before = table.head(durable, ID)
    durable.run(duration=300)

    after = table.head(durable, ID)
    assert (after.tail, after.segment, after.lease, ran) == (before.tail, before.segment, 0, [])
    with pytest.raises(StoreError, match="a part of the history is of format 2"):
        _ = execution.history
    ends_well(durable)

"""What holds of every bucket (durable.runtime.ports.Blobs) and of every bus (durable.runtime.ports.Publisher)."""

from __future__ import annotations

import json

import pytest

from durable.errors import InvalidInput, StoreError
from durable.runtime.ports import Blobs, Publisher
from durable.testing import Harness
from tests.emulators import moto_only

LARGE = 1024 * 1024  # bytes of an event at most


@pytest.mark.rule("S13")
def test_an_object_comes_back_as_it_was_written_last(blobs: Blobs) -> None:
    blobs.put("order-1/a", b"\x00one")
    blobs.put("order-1/a", b"\x00two" * 500_000)
    assert blobs.get("order-1/a") == b"\x00two" * 500_000


def test_an_object_that_is_not_there_is_a_store_error(blobs: Blobs) -> None:
    with pytest.raises(StoreError, match="could not read 'order-1/a' from"):
        blobs.get("order-1/a")


@pytest.mark.rule("E9")
def test_objects_are_dropped_by_their_keys_and_those_gone_are_no_fault(blobs: Blobs, durable: Harness) -> None:
    for key in ("order-1/a", "order-1/a0", "order-1/b"):
        blobs.put(key, b"x")
    blobs.drop(["order-1/a", "order-1/gone"])
    blobs.drop([])
    assert durable.stored.objects("order-1") == ["order-1/a0", "order-1/b"]


@pytest.mark.rule("E9")
def test_purging_deletes_what_begins_so_and_nothing_else(blobs: Blobs, durable: Harness) -> None:
    for key in ("order-1/a", "order-1/b", "order-10/a", "order-2/order-1/a"):
        blobs.put(key, b"x")
    blobs.purge("order-1/")
    blobs.purge("order-1/")
    assert [list(durable.stored.objects(execution)) for execution in ("order-1", "order-10", "order-2")] == [
        [],
        ["order-10/a"],
        ["order-2/order-1/a"],
    ]


def test_an_event_is_published_as_it_is(publisher: Publisher, durable: Harness) -> None:
    publisher.publish("order placed", "shop", '{"order": 1}')
    (call,) = durable.calls
    (entry,) = call.parameters["Entries"]
    assert (call.operation, call.error) == ("PutEvents", None)
    assert (entry["Source"], entry["DetailType"], json.loads(entry["Detail"])) == ("shop", "order placed", {"order": 1})


def test_an_event_that_is_too_large_is_refused_before_any_call(publisher: Publisher, durable: Harness) -> None:
    frame = len('{"a": ""}') + len("big") + len("shop")
    fits = '{"a": "%s"}' % ("x" * (LARGE - frame))
    publisher.publish("big", "shop", fits)
    for detail in (fits.replace("x", "xx", 1), '{"a": "%s"}' % ("€" * (LARGE // 2))):
        with pytest.raises(InvalidInput, match=r"the event 'big' is [\d,]+ bytes; EventBridge takes at most 1,048,576"):
            publisher.publish("big", "shop", detail)
    assert len(durable.calls) == 1


@moto_only  # MiniStack takes a detail that is no JSON object
def test_an_event_whose_detail_is_no_object_is_a_store_error(publisher: Publisher) -> None:
    with pytest.raises(StoreError, match="could not publish event 'bad': MalformedDetail: Detail is malformed"):
        publisher.publish("bad", "shop", "{no json")

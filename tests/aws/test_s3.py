"""The payload bucket (durable.runtime.ports.Blobs): objects are deleted, and what S3 does not delete is an error."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from durable.aws.clients import Clients
from durable.aws.s3 import PAGE, S3Blobs
from durable.errors import StoreError
from tests.aws.emulators import emulated
from tests.aws.wire import answered, calls_of

pytestmark = pytest.mark.rule("E9", "S13")

DENIED = {"Errors": [{"Key": "a/2", "Code": "AccessDenied", "Message": "no"}], "ResponseMetadata": {}}


@pytest.fixture
def blobs(clients: Clients) -> Iterator[S3Blobs]:
    with emulated():
        clients.s3().create_bucket(Bucket="payloads")
        yield S3Blobs("payloads", clients.s3)


def keys(clients: Clients) -> list[str]:
    pages = clients.s3().get_paginator("list_objects_v2").paginate(Bucket="payloads")
    return [each["Key"] for page in pages for each in page.get("Contents", [])]


def test_purging_deletes_all_that_begins_so_page_by_page(blobs: S3Blobs, clients: Clients) -> None:
    for number in range(PAGE + 5):
        blobs.put(f"a/{number:05}", b"")
    blobs.put("ab", b"")
    blobs.purge("a/")
    assert keys(clients) == ["ab"]


def test_purging_where_nothing_is_asks_once(blobs: S3Blobs, clients: Clients) -> None:
    with calls_of(clients.s3()) as calls:
        blobs.purge("a/")
    assert [name for name, _ in calls] == ["ListObjectsV2"]


@pytest.mark.parametrize("purge", [True, False])
def test_what_s3_did_not_delete_is_an_error_that_names_it_and_no_loop(
    blobs: S3Blobs, clients: Clients, purge: bool
) -> None:
    for key in ("a/1", "a/2"):
        blobs.put(key, b"")
    with (
        answered(clients.s3(), "DeleteObjects", *[DENIED] * 100),
        calls_of(clients.s3()) as calls,
        pytest.raises(StoreError, match=r"could not delete 1 of 2 objects .* 'a/2' for one: AccessDenied: no"),
    ):
        blobs.purge("a/") if purge else blobs.drop(["a/1", "a/2"])
    assert len(calls) <= 2

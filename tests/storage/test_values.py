"""Where large values are kept: what a warm process caches of them, and what it deletes."""

from __future__ import annotations

import random

import pytest

from durable.local.blobs import SqliteBlobs
from durable.local.database import Database
from durable.local.store import SqliteStore
from durable.protocol import keys
from durable.runtime.storage.values import CACHE, ITEM, Vault

pytestmark = pytest.mark.rule("S13")

BIRTH = 1_900_000_000_000
LARGE = b"v" + random.Random(1).randbytes(2 * ITEM)  # of several items, or an object


class Counting(SqliteStore):
    """Counts what is read."""

    reads = 0

    def find(self, execution_id: str, key: str) -> bytes | None:
        self.reads += 1
        return super().find(execution_id, key)


@pytest.fixture
def store() -> Counting:
    return Counting(Database())


def key(number: int) -> str:
    return keys.payload(BIRTH, number)


def test_a_value_that_was_written_is_not_read_again(store: Counting) -> None:
    vault = Vault(store)
    reference = vault.keep("order-1", key(1), b"vone")
    assert (vault.kept("order-1", reference), store.reads) == (b"vone", 0)


@pytest.mark.parametrize("again", [1, 100])
def test_the_cache_counts_a_value_once_however_often_it_is_written_and_read(store: Counting, again: int) -> None:
    """A document that was written under one key again and again filled the cache with nothing."""
    vault = Vault(store)
    size = CACHE // 5
    for _ in range(again):
        vault.keep("order-1", key(1), b"v" * size)
        vault.kept("order-1", f"item:{key(1)}")
    others = [vault.keep("order-1", key(number), b"w" * size) for number in range(2, 5)]
    for reference in (f"item:{key(1)}", *others):
        vault.kept("order-1", reference)

    assert store.reads == 0


@pytest.mark.parametrize("bucket", [True, False])
def test_a_large_value_comes_back_whole_and_is_deleted_whole(store: Counting, bucket: bool) -> None:
    blobs = SqliteBlobs(Database())
    vault = Vault(store, blobs if bucket else None)
    reference = vault.keep("order-1", key(1), LARGE)
    assert Vault(store, blobs).kept("order-1", reference) == LARGE

    vault.drop("order-1", [reference])
    assert (dict(store.sizes("order-1")), blobs.keys()) == ({}, [])


def test_dropping_one_value_leaves_those_whose_key_begins_alike(store: Counting) -> None:
    blobs = SqliteBlobs(Database())
    vault = Vault(store, blobs)
    first, second = (vault.keep("order-1", keys.payload(BIRTH, name), LARGE) for name in ("a.1", "a.12"))
    vault.drop("order-1", [first])
    assert Vault(store, blobs).kept("order-1", second) == LARGE


@pytest.mark.rule("E9")
def test_purging_deletes_the_objects_of_one_life_of_an_id(store: Counting) -> None:
    blobs = SqliteBlobs(Database())
    vault = Vault(store, blobs)
    for birth in (BIRTH, BIRTH + 1):
        vault.keep("order-1", keys.payload(birth, "a"), LARGE)
    vault.keep("order-10", keys.payload(BIRTH, "a"), LARGE)
    vault.purge("order-1", BIRTH)
    assert len(blobs.keys("order-1/")) == len(blobs.keys("order-10/")) == 1

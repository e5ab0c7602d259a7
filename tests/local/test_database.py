"""The database of the local ports: one transaction at a time, in memory or in a file that outlives its process."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from msgspec.structs import replace

from durable.errors import ConfigurationError, StoreError
from durable.local.database import FORMAT, Database
from durable.local.store import SqliteStore
from durable.protocol.head import Head, Status
from durable.protocol.updates import Put, Refused, Update, Where

HEAD = Head("order-1", Status.PENDING, "checkout", 1, created=1_000)

OTHER_PROCESS = """
import sys
from durable.local.database import Database
from durable.local.store import SqliteStore
from durable.protocol.updates import Update, Where
store = SqliteStore(Database(sys.argv[1]))
for _ in range(200):
    store.update(Update("order-1", Where(), {}, {"inbox": 1}))
"""


def test_a_file_is_read_by_the_next_process(tmp_path: Path) -> None:
    path = tmp_path / "kept.sqlite3"
    database = Database(path)
    SqliteStore(database).create(HEAD, None)
    database.close()

    again = Database(path)
    assert SqliteStore(again).read("order-1") == HEAD
    again.close()


def test_processes_that_write_to_one_file_at_once_lose_no_update(tmp_path: Path) -> None:
    path = tmp_path / "kept.sqlite3"
    database = Database(path)
    store = SqliteStore(database)
    store.create(HEAD, None)
    processes = [subprocess.Popen([sys.executable, "-c", OTHER_PROCESS, str(path)]) for _ in range(2)]
    for _ in range(200):
        store.update(Update("order-1", Where(), {}, {"inbox": 1}))
    assert [process.wait(60) for process in processes] == [0, 0]
    assert store.read("order-1") == replace(HEAD, inbox=600)
    database.close()


def test_threads_that_write_at_once_lose_no_update() -> None:
    database = Database()
    store = SqliteStore(database)
    store.create(HEAD, None)

    def write() -> None:
        for _ in range(200):
            store.update(Update("order-1", Where(), {}, {"inbox": 1}))

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.read("order-1") == replace(HEAD, inbox=800)
    database.close()


def test_a_file_of_another_format_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "newer.sqlite3"
    newer = sqlite3.connect(path)
    newer.execute(f"PRAGMA user_version = {FORMAT + 1}")
    newer.close()
    before = path.read_bytes()
    with pytest.raises(ConfigurationError, match=rf"newer.sqlite3 has format {FORMAT + 1}; .* format {FORMAT}\. Use"):
        Database(path)
    assert path.read_bytes()[:100] == before[:100]


def test_a_file_that_is_no_database_says_so(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("no database at all " * 100)
    with pytest.raises(StoreError, match=r"the local store .*notes.txt failed: DatabaseError: file is not a database"):
        Database(path)
    assert path.read_text().startswith("no database")


def test_what_sqlite_raises_leaves_as_a_store_error_and_nothing_is_half_written() -> None:
    database = Database()
    store = SqliteStore(database)
    store.create(HEAD, None)
    with pytest.raises(StoreError, match="the local store :memory: failed: OperationalError"), database as connection:
        connection.execute("DELETE FROM head")
        connection.execute("no such statement")
    assert store.read("order-1") == HEAD
    database.close()


def test_an_error_in_a_transaction_undoes_all_of_it() -> None:
    database = Database()
    store = SqliteStore(database)
    store.create(HEAD, None)
    with pytest.raises(StoreError, match="400 KB"):
        store.together(Update("order-1", Where(), {"revision": 7}), [Put("a", b"1"), Put("b", bytes(500_000))])
    assert (store.read("order-1"), store.find("order-1", "a")) == (HEAD, None)
    database.close()


def test_a_copy_of_the_whole_store_can_be_gone_back_to() -> None:
    database = Database()
    store = SqliteStore(database)
    store.create(HEAD, None)
    before = database.serialize()
    store.update(Update("order-1", Where(), {"revision": 7}))
    store.keep("order-1", "state#1#1000", b"x")

    database.deserialize(before)

    assert (store.read("order-1"), store.find("order-1", "state#1#1000")) == (HEAD, None)
    assert store.update(Update("order-1", Where(revision=7), {"revision": 8})) == Refused(HEAD)
    database.close()


def test_a_store_that_is_closed_is_out_of_reach() -> None:
    database = Database()
    store = SqliteStore(database)
    database.close()
    with pytest.raises(StoreError, match="closed database"):
        store.read("order-1")
    with pytest.raises(StoreError, match="closed database"):
        store.create(HEAD, None)

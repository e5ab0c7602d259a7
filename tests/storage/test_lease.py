"""A lease: one lease never writes what another wrote, and after a fault nothing more is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from durable.codec import TAGGED
from durable.engine.entries import StepEntry, with_value
from durable.engine.interrupts import Fault, LeaseLost
from durable.engine.recorded import EntryStatus
from durable.errors import StoreError
from durable.local.database import Database
from durable.local.store import SqliteStore
from durable.protocol.checkpoint import Checkpoint, Continue, GiveBack
from durable.protocol.head import Head, Status
from durable.protocol.updates import Blocked, Put, Refused, Segment, Update, Where
from durable.runtime.ports import Ports
from durable.runtime.storage.cache import SegmentCache
from durable.runtime.storage.lease import Lease
from durable.runtime.storage.values import Vault

pytestmark = pytest.mark.rule("E4", "E14")

HEAD = Head("order-1", Status.RUNNING, "checkout", 1, created=1_000, revision=3, fence=2, lease=9_000, claims=1)
LARGE = TAGGED + b'"' + b"x" * 20_000 + b'"'


class Failing(SqliteStore):
    """Fails once, when it is told to, and notes every write."""

    fails = False
    applies = True  # … after the write was applied

    def __init__(self) -> None:
        super().__init__(Database())
        self.written: list[str] = []

    def update(self, update: Update) -> Head | Refused:
        self.written.append("head")
        answer = super().update(update) if self.applies or not self.fails else Refused(None)
        if self.fails:
            self.fails = False
            raise StoreError("the connection was closed")
        return answer

    def together(
        self, update: Update, puts: Sequence[Put], writes: Sequence[Mapping[str, object]] = ()
    ) -> Head | Refused | Blocked:
        self.written.append("together")
        return super().together(update, puts, writes)

    def seal(self, execution_id: str, segment: Segment) -> None:
        self.written.append(segment.key)
        super().seal(execution_id, segment)

    def keep(self, execution_id: str, key: str, value: bytes, *, new: bool = False, expires: int = 0) -> bool:
        self.written.append(key)
        return super().keep(execution_id, key, value, new=new, expires=expires)


class Clock:
    def now(self) -> int:
        return 2_000

    def sleep(self, seconds: float) -> None:
        """Nothing."""


class Counted:
    count = 0

    def __call__(self) -> str:
        self.count += 1
        return f"nonce-{self.count}"


def ports(store: SqliteStore) -> Ports:
    unused: Any = None
    return Ports(
        store=store,
        values=Vault(store),
        queue=unused,
        clock=Clock(),
        nonces=Counted(),
        process=unused,
        observer=unused,
    )


def lease(store: SqliteStore, head: Head = HEAD) -> Lease:
    store.create(head, None)
    return Lease(ports(store), SegmentCache(), head)


def entry(path: str, value: bytes = LARGE) -> StepEntry:
    return with_value(StepEntry(path=path, order=1, status=EntryStatus.COMPLETED), value)


@pytest.mark.parametrize("applies", [True, False], ids=["applied", "not applied"])
@pytest.mark.parametrize(
    "following",
    [
        Checkpoint([entry("second")], Continue(), ran=True),
        Checkpoint([], GiveBack()),
        Checkpoint([entry("second")], Continue(), writes=[Put("db#a#1000", b"1")]),
    ],
)
def test_after_a_fault_nothing_more_is_written(following: Checkpoint, applies: bool) -> None:
    """Nobody knows what stands in the table: not even whether the write before was applied."""
    store = Failing()
    held = lease(store)
    store.fails, store.applies = True, applies
    with pytest.raises(Fault):
        held.checkpoint(Checkpoint([entry("first", TAGGED + b"1")], Continue(), ran=True))
    store.written.clear()

    for _ in range(2):
        with pytest.raises(Fault):
            held.checkpoint(following)
    assert store.written == []


@pytest.mark.parametrize("status", [Status.TERMINATED, Status.COMPLETED])
def test_after_an_end_nothing_more_is_written(status: Status) -> None:
    store = Failing()
    held = lease(store)
    store.update(Update("order-1", Where(), {"status": status}))
    with pytest.raises(LeaseLost):
        held.checkpoint(Checkpoint([entry("first", TAGGED + b"1")], Continue(), ran=True))
    store.written.clear()

    with pytest.raises(LeaseLost):
        held.checkpoint(Checkpoint([], GiveBack()))
    assert store.written == []


def test_after_it_was_given_back_nothing_more_is_written() -> None:
    store = Failing()
    held = lease(store)
    held.checkpoint(Checkpoint([], GiveBack()))
    store.written.clear()

    with pytest.raises(LeaseLost):
        held.checkpoint(Checkpoint([entry("first")], Continue(), ran=True))
    assert store.written == []


@pytest.mark.parametrize("other", [{"fence": 3}, {"fence": 12}, {"created": 1_001}])
def test_two_leases_never_write_one_key(other: dict[str, int]) -> None:
    """One that is late writes beside what the other's head names, and never over it."""
    written = []
    for head in (HEAD, replace(HEAD, **other)):
        store = Failing()
        held = lease(store, head)
        for number in range(12):
            value = TAGGED + b'"%d"' % number
            held.checkpoint(Checkpoint([entry(f"{number}")], Continue(), state=LARGE, ran=True))
            held.checkpoint(Checkpoint([entry(f"small {number}", value)], Continue(), ran=True))
        written.append({key for key in store.written if key not in ("head", "together")})

    assert all(len(keys) > 20 for keys in written)
    assert written[0] & written[1] == set()

"""The banks' books in SQLite: double entry, and one answer for each idempotency key, for ever."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from infra.demo.scenario import Account

SCHEMA = """
CREATE TABLE account (number TEXT PRIMARY KEY, bank TEXT NOT NULL, opening INTEGER NOT NULL);
CREATE TABLE call (key TEXT PRIMARY KEY, times INTEGER NOT NULL);
CREATE TABLE answer (key TEXT PRIMARY KEY, status INTEGER NOT NULL, request TEXT NOT NULL, value TEXT NOT NULL);
CREATE TABLE booking (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, reference TEXT NOT NULL,
    kind TEXT NOT NULL, account TEXT NOT NULL, cents INTEGER NOT NULL, reverses INTEGER
);
CREATE TABLE leg (booking INTEGER NOT NULL, account TEXT NOT NULL, cents INTEGER NOT NULL);
CREATE TABLE paper (key TEXT PRIMARY KEY, kind TEXT NOT NULL, reference TEXT NOT NULL, void INTEGER NOT NULL DEFAULT 0);
"""


@dataclass(frozen=True, slots=True)
class Booking:
    """An amount that was moved, for a customer, under a key."""

    id: int
    key: str
    reference: str  # the transfer that it is for
    kind: str  # debit or credit
    account: str
    cents: int
    reverses: int | None  # the booking that it takes back


@dataclass(frozen=True, slots=True)
class Leg:
    """One side of a booking; the sides of each sum to nothing."""

    booking: int
    account: str
    cents: int


@dataclass(frozen=True, slots=True)
class Paper:
    """A notice or an entry in the ledger of all banks; void once it is withdrawn or struck out."""

    key: str
    kind: str
    reference: str
    void: bool


@dataclass(frozen=True, slots=True)
class Books:
    """All that is written down, for the audit."""

    openings: Mapping[str, int]
    bookings: tuple[Booking, ...]
    legs: tuple[Leg, ...]
    papers: tuple[Paper, ...]
    calls: int
    keys: int


class Ledger:
    """Not safe between threads: whoever shares one takes turns."""

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = OFF")  # it outlives the workers, not the machine

    def __enter__(self) -> Self:
        """A transaction: what is written within is kept as a whole or not at all."""
        self._database.execute("BEGIN IMMEDIATE")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self._database.execute("ROLLBACK" if kind else "COMMIT")

    def close(self) -> None:
        self._database.close()

    def found(self, accounts: Iterable[Account]) -> None:
        """Open the books with these accounts, and a clearing account for each bank."""
        self._database.executescript(SCHEMA)
        rows = {(each.number, each.bank, each.opening) for each in accounts}
        rows |= {(clearing(bank), bank, 0) for _, bank, _ in rows}
        self._database.executemany("INSERT INTO account VALUES (?, ?, ?)", sorted(rows))

    def count_call(self, key: str) -> int:
        """The how manieth call with this key this is."""
        statement = "INSERT INTO call VALUES (?, 1) ON CONFLICT (key) DO UPDATE SET times = times + 1 RETURNING times"
        return int(self._database.execute(statement, [key]).fetchone()[0])

    def answer(self, key: str) -> tuple[int, str, str] | None:
        """What a key was answered: status, the request that it was for, and the value."""
        row = self._database.execute("SELECT status, request, value FROM answer WHERE key = ?", [key]).fetchone()
        return tuple(row) if row else None

    def keep_answer(self, key: str, status: int, request: str, value: str) -> None:
        self._database.execute("INSERT INTO answer VALUES (?, ?, ?, ?)", [key, status, request, value])

    def book(self, key: str, reference: str, kind: str, account: str, cents: int, reverses: int | None) -> int:
        """Move an amount between a customer and the bank's clearing account; the booking's number."""
        statement = "INSERT INTO booking VALUES (NULL, ?, ?, ?, ?, ?, ?) RETURNING id"
        values = [key, reference, kind, account, cents, reverses]
        booking = int(self._database.execute(statement, values).fetchone()[0])
        bank = self._database.execute("SELECT bank FROM account WHERE number = ?", [account]).fetchone()[0]
        gain = cents if kind == "credit" else -cents
        legs = [(booking, account, gain), (booking, clearing(bank), -gain)]
        self._database.executemany("INSERT INTO leg VALUES (?, ?, ?)", legs)
        return booking

    def find(self, key: str) -> list[int]:
        """The booking under a key, if there is one."""
        return [row[0] for row in self._database.execute("SELECT id FROM booking WHERE key = ?", [key])]

    def file(self, key: str, kind: str, reference: str) -> None:
        """Keep a notice or an entry."""
        self._database.execute("INSERT INTO paper (key, kind, reference) VALUES (?, ?, ?)", [key, kind, reference])

    def void(self, key: str) -> None:
        """Withdraw a notice or strike out an entry, if it is there."""
        self._database.execute("UPDATE paper SET void = 1 WHERE key = ?", [key])

    def books(self) -> Books:
        def rows(columns: str) -> list[Any]:
            return self._database.execute(f"SELECT {columns}").fetchall()

        return Books(
            openings=dict(rows("number, opening FROM account")),
            bookings=tuple(Booking(*row) for row in rows("* FROM booking ORDER BY id")),
            legs=tuple(Leg(*row) for row in rows("* FROM leg ORDER BY booking, account")),
            papers=tuple(
                Paper(key, kind, who, bool(void)) for key, kind, who, void in rows("* FROM paper ORDER BY key")
            ),
            calls=rows("coalesce(sum(times), 0) FROM call")[0][0],
            keys=rows("count(*) FROM call")[0][0],
        )


def clearing(bank: str) -> str:
    """The account through which a bank settles with the others."""
    return f"{bank} clearing"

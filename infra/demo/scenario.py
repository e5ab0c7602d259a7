"""The transfers of the demo, and the people and banks that they are between, read from `transfers.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

SOURCE = Path(__file__).with_name("transfers.json")


class How(StrEnum):
    """The ways in which a bank misbehaves when it is asked for something."""

    DECLINES = "declines"
    FAILS_BEFORE = "fails-before-booking"
    FAILS_AFTER = "fails-after-booking"
    HANGS_AFTER = "hangs-after-booking"


@dataclass(frozen=True, slots=True)
class Fault:
    """The first `times` calls of each idempotency key go wrong like this."""

    how: How
    times: int
    reason: str


@dataclass(frozen=True, slots=True)
class Account:
    """An account as its bank knows it; what the banks do wrong is a property of accounts."""

    number: str
    owner: str
    bank: str
    opening: int  # cents, like all amounts in the demo's own code
    limit: int  # of one payment
    closed: bool = False
    faults: Mapping[str, Fault] = field(default_factory=dict)  # by operation


@dataclass(frozen=True, slots=True)
class Transfer:
    """One line of the file; everything but the id is the input of the workflow."""

    id: str
    source: str
    target: str
    cents: int
    purpose: str

    @property
    def input(self) -> dict[str, str]:
        return {"source": self.source, "target": self.target, "amount": money(self.cents), "purpose": self.purpose}


@dataclass(frozen=True, slots=True)
class Scenario:
    accounts: Mapping[str, Account]
    transfers: tuple[Transfer, ...]

    @classmethod
    def load(cls, count: int | None = None, path: Path = SOURCE) -> Self:
        """The first `count` transfers of the file, all of them without a count."""
        content = json.loads(path.read_text(encoding="utf-8"))
        accounts = [_account(item) for item in content["accounts"]]
        transfers = [_transfer(item) for item in content["transfers"][:count]]
        return cls({account.number: account for account in accounts}, tuple(transfers))


def cents(amount: str) -> int:
    """`"12.50"` as 1250."""
    whole, _, rest = amount.partition(".")
    return int(whole) * 100 + int(rest.ljust(2, "0")[:2] or 0)


def money(amount: int) -> str:
    """1250 as `"12.50"`."""
    sign = "-" if amount < 0 else ""
    return f"{sign}{abs(amount) // 100}.{abs(amount) % 100:02}"


def _account(item: Mapping[str, Any]) -> Account:
    return Account(
        number=item["number"],
        owner=item["owner"],
        bank=item["bank"],
        opening=cents(item["opening"]),
        limit=cents(item["limit"]),
        closed=item.get("closed", False),
        faults={
            operation: Fault(How(fault["how"]), fault["times"], fault.get("reason", ""))
            for operation, fault in item.get("faults", {}).items()
        },
    )


def _transfer(item: Mapping[str, Any]) -> Transfer:
    return Transfer(item["id"], item["source"], item["target"], cents(item["amount"]), item["purpose"])

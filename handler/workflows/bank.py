"""The banks' HTTP API, as much of it as a transfer needs.

Whatever books carries an idempotency key: asked twice with one key, a bank books once and answers the same.
"""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from durable import TerminalError

TIMEOUT = 1.0  # seconds; a bank that takes longer may have booked all the same


class Declined(TerminalError):
    """The bank said no, and will say no again: the account is closed, the amount is over the limit ..."""


class Unavailable(Exception):
    """The bank gave no answer or a 5xx, so nobody knows whether it booked: ask again, with the same key."""


@dataclass(frozen=True)
class Booking:
    """What a bank calls an amount that it moved."""

    id: str


def debit(account: str, amount: Decimal, reference: str, *, key: str, reverses: Booking | None = None) -> Booking:
    """Take an amount from an account."""
    return _book("/debits", account, amount, reference, key, reverses)


def credit(account: str, amount: Decimal, reference: str, *, key: str, reverses: Booking | None = None) -> Booking:
    """Put an amount on an account."""
    return _book("/credits", account, amount, reference, key, reverses)


def find_booking(key: str) -> Booking | None:
    """What the bank booked under an idempotency key, if anything."""
    found = _call("GET", f"/bookings?key={key}")["bookings"]
    return Booking(found[0]) if found else None


def send_notice(account: str, text: str, reference: str, *, key: str) -> None:
    """Tell the holder of an account."""
    _call("POST", "/notices", {"account": account, "text": text, "reference": reference}, key)


def withdraw_notice(key: str) -> None:
    """Take a notice back, sent or not."""
    _call("DELETE", f"/notices/{key}")


def write_entry(account: str, amount: Decimal, reference: str, *, key: str) -> None:
    """Enter a transfer in the ledger of all banks."""
    _call("POST", "/entries", {"account": account, "amount": str(amount), "reference": reference}, key)


def strike_entry(key: str) -> None:
    """Strike an entry out, written or not."""
    _call("DELETE", f"/entries/{key}")


def _book(path: str, account: str, amount: Decimal, reference: str, key: str, reverses: Booking | None) -> Booking:
    order = {"account": account, "amount": str(amount), "reference": reference}
    if reverses:
        order["reverses"] = reverses.id
    return Booking(_call("POST", path, order, key)["id"])


def _call(method: str, path: str, body: object = None, key: str | None = None) -> Any:
    request = urllib.request.Request(
        os.environ["DEMO_BANK_URL"] + path,
        method=method,
        data=json.dumps(body).encode() if body else None,
        headers={"Content-Type": "application/json", **({"Idempotency-Key": key} if key else {})},
    )
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            if error.code < 500:
                raise Declined(json.load(error)["reason"]) from None
            raise Unavailable(f"{method} {path}: status {error.code}") from None
    except OSError as error:  # no connection, no answer in time
        raise Unavailable(f"{method} {path}: {error}") from error

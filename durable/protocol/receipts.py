"""Receipts of delivered messages: what names the queue that gave it, and the queue's own handle."""

from __future__ import annotations


def made(queue_arn: str, handle: str) -> str:
    """Return a receipt that says which queue gave it."""
    return f"{queue_arn.rpartition(':')[2]} {handle}"


def split(receipt: str) -> tuple[str, str]:
    """Return the queue's name, empty for the queue of continuations, and the queue's own handle."""
    queue, _, handle = receipt.rpartition(" ")
    return queue, handle

"""What the event sources share: how they invoke a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from durable.testing.invocations import Invocation

Invoke = Callable[[str, Any], Invocation]
"""Invokes the function of this logical id with an event."""

ALL = None  # the whole batch failed


def failed_items(invocation: Invocation, items: Mapping[str, Any], *, partial: bool) -> set[str] | None:
    """The identifiers that the function reported as failed, by Lambda's rules; None is all of them.

    With ReportBatchItemFailures an empty answer is success, and an answer that can't be understood (no list, an
    identifier that is empty, null, misspelt or not of the batch) is a failure of all. Without it only an error counts.
    """
    if invocation.failed:
        return ALL
    if not partial or invocation.answer is None:
        return set()
    if not isinstance(invocation.answer, dict):
        return ALL
    reported = invocation.answer.get("batchItemFailures")
    if reported is None:
        return set()
    if not isinstance(reported, list):
        return ALL
    failed = [entry.get("itemIdentifier") if isinstance(entry, dict) else None for entry in reported]
    known = [identifier for identifier in failed if isinstance(identifier, str) and identifier in items]
    return set(known) if len(known) == len(failed) else ALL

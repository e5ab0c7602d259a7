"""A look at what a deployment has stored, and tables of the user's own. None of it is a call: no fault can meet it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

Item = Mapping[str, Mapping[str, Any]]  # as boto3's client has it: {"id": {"S": "a"}}


class Stored(Protocol):
    """What is stored of executions."""

    def items(self, execution_id: str) -> Mapping[str, int]:
        """The sort keys of an execution's items, and about how many bytes each item has."""

    def objects(self, execution_id: str) -> Sequence[str]:
        """The keys of an execution's objects in the bucket."""


class Tables(Protocol):
    """Tables of the user's own, to which `step.transact` writes."""

    def create(self, name: str, *keys: str) -> None:
        """Make a table with a partition key and, if two keys are given, a sort key; both are strings."""

    def get(self, name: str, key: Item) -> Item | None:
        """The item of this key, or None."""

    def items(self, name: str) -> Sequence[Item]:
        """Every item of the table, in no order."""

    def put(self, name: str, item: Item) -> None:
        """Write an item."""

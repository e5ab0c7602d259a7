"""What answers for AWS in a harness."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Protocol

from durable.testing.aws.units import Item
from durable.testing.template.stack import Queue


class Emulator(Protocol):
    """An AWS for one harness after another. Looking into it is no call: it has no number, and no fault can meet it."""

    def running(self) -> AbstractContextManager[None]:
        """While this is entered, the calls of every botocore client end here, and each time nothing is in it yet."""

    def item(self, table: str, key: Item) -> Item | None:
        """An item as it stands, as on the wire."""

    def messages(self, queue: Queue) -> Iterable[tuple[str, str]]:
        """The ids and bodies of the messages in a queue, the invisible too."""

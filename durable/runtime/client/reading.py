"""Reading an execution that may go on meanwhile: what it replaces, it deletes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from durable.errors import StoreError
from durable.protocol.head import Head
from durable.runtime.ports import Store

T = TypeVar("T")
TRIES = 5


def reading(store: Store, head: Head, look: Callable[[Head], T]) -> T:
    """What a look at an execution finds: at this head or, when what it names is deleted during the look, at a newer one."""
    for _ in range(TRIES):
        try:
            return look(head)
        except StoreError:
            again = store.read(head.execution_id)
            if again is None or again == head:
                raise
            head = again
    return look(head)

"""Faults of the infrastructure, as the runtime passes them on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from durable.engine.interrupts import Fault
from durable.errors import StoreError


@contextmanager
def infrastructure() -> Iterator[None]:
    """Re-raise StoreError as Fault, which user code cannot catch (D9)."""
    try:
        yield
    except StoreError as error:
        raise Fault(error) from error

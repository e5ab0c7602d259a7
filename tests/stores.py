"""On which stores tests run: every one on both, unless DURABLE_TEST_STORE says which.

A matrix of faults is tried in full on the local store. On an emulated AWS, where each call takes a hundred times as long, it is
sampled: what the local store can't show is what AWS does at a call, and not which call it is.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from random import Random
from typing import TypeVar

from tests.emulators import ENDPOINT

T = TypeVar("T")

VARIABLE = "DURABLE_TEST_STORE"
CHOSEN = os.environ.get(VARIABLE, "")
STORES = (CHOSEN,) if CHOSEN else ("moto",) if ENDPOINT else ("local", "moto")
EVERYTHING = "DURABLE_TEST_EVERYTHING" in os.environ  # every case on every store


def sampled(cases: Iterable[T], most: int = 2) -> list[T]:
    """Every case on the local store; on another one `most` of them, in order, and the same in every run."""
    found = list(cases)
    if EVERYTHING or os.environ.get(VARIABLE) == "local" or len(found) <= most:
        return found
    return [found[at] for at in sorted(Random(len(found)).sample(range(len(found)), most))]

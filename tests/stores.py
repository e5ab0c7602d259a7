"""On which stores tests run: on both, unless DURABLE_TEST_STORE says which.

A matrix of cases is tried in full on the local store. On an emulated AWS, where a call takes a hundred times as long, it is
sampled: DURABLE_TEST_SEED chooses another sample, DURABLE_TEST_EVERYTHING runs every case.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from random import Random
from typing import TypeVar

import pytest

from tests.emulators import ENDPOINT

T = TypeVar("T")

VARIABLE = "DURABLE_TEST_STORE"
CHOSEN = os.environ.get(VARIABLE, "")
STORES = (CHOSEN,) if CHOSEN else ("moto",) if ENDPOINT else ("local", "moto")
EVERYTHING = "DURABLE_TEST_EVERYTHING" in os.environ
SEED = os.environ.get("DURABLE_TEST_SEED", "")
CASES = 2  # of one test function, on an emulated AWS


def sampled(cases: Iterable[T], most: int = 2) -> list[T]:
    """Every case on the local store; on another one `most` of them, in order, and the same in every run."""
    found = list(cases)
    return found if os.environ.get(VARIABLE) == "local" else _sample(found, most)


def left_out(items: Iterable[pytest.Item]) -> set[pytest.Item]:
    """The cases of test functions that are too many for an emulated AWS."""
    cases: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        parameters = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        if parameters.get("store", "local") != "local":
            cases[item.nodeid.partition("[")[0]].append(item)
    return {item for function in cases.values() for item in set(function) - set(_sample(function, CASES))}


def _sample(cases: Sequence[T], most: int) -> list[T]:
    if EVERYTHING or len(cases) <= most:
        return list(cases)
    chosen = Random(f"{SEED} {len(cases)}").sample(range(len(cases)), most)
    return [cases[at] for at in sorted(chosen)]

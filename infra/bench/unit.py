"""A fixed piece of Python work, by which times are measured: how long it takes says how fast this machine is just now."""

from __future__ import annotations

import json
import time

ROUNDS = 2_000
_VALUE = {"id": "order-1", "lines": [{"sku": "a", "quantity": 2}, {"sku": "b", "quantity": 1}], "total": "12.50"}


def work() -> float:
    """Return the seconds that one piece takes: a small document is written, read and looked through."""
    started = time.perf_counter()
    for _ in range(ROUNDS):
        document = json.loads(json.dumps(_VALUE))
        sum(line["quantity"] for line in document["lines"])
    return (time.perf_counter() - started) / ROUNDS


def best(runs: int = 7) -> float:
    """Return the least of several runs: the machine is shared, and noise only adds."""
    return min(work() for _ in range(runs))

"""Idempotency keys: one for each step of each execution, whatever happens to it."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest

from durable import Context, Retry, Step, Undo, workflow
from durable.testing import Harness

pytestmark = pytest.mark.rule("S6")


def test_a_key_is_stable_over_attempts_crashes_and_invocations_and_each_step_has_its_own() -> None:
    keys: dict[tuple[str, str], list[str]] = defaultdict(list)

    def charge(step: Step) -> None:
        keys[step.execution_id, step.path].append(step.idempotency_key)
        if step.attempt < 3:
            raise OSError("no line")

    @workflow
    def order(ctx: Context) -> None:
        for _ in range(2):
            ctx.step("charge", charge, retry=Retry(3, backoff_base=60))

    with Harness(workflows=[order]) as durable:
        for name in ("one", "two"):
            durable.faults.in_body(2, durable.faults.die)
            durable.start(order, execution_id=name)
            durable.run()

    assert {place: (len(seen), len(set(seen))) for place, seen in keys.items()} == {
        ("one", "charge"): (3, 1),
        ("one", "charge#2"): (3, 1),
        ("two", "charge"): (3, 1),
        ("two", "charge#2"): (3, 1),
    }
    every = {key for seen in keys.values() for key in seen}
    assert len(every) == 4
    assert all(re.fullmatch(r"[0-9a-f]{64}", key) for key in every)


def test_a_rollback_has_its_own_key_and_sees_the_forward_one() -> None:
    forward: dict[str, str] = {}
    undone: list[tuple[str, str, str]] = []

    def charge(step: Step) -> None:
        forward[step.path] = step.idempotency_key

    def refund(undo: Undo) -> None:
        undone.append((undo.path, undo.forward_idempotency_key, undo.idempotency_key))
        if len(undone) == 1:
            raise OSError("no line")

    @workflow
    def order(ctx: Context) -> None:
        ctx.step("charge", charge, rollback=refund)
        ctx.step("ship", charge, rollback=refund)
        raise ValueError("sold out")

    with Harness(workflows=[order]) as durable:
        durable.start(order)
        durable.run()

    (path, seen, first), (_, _, again), (other_path, other_seen, other) = undone
    assert (path, other_path) == ("ship", "charge")
    assert (seen, other_seen) == (forward["ship"], forward["charge"])
    assert first == again
    assert len({first, other, *forward.values()}) == 4

"""No write can be made from the head of an execution that has ended (E14)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from durable.protocol import commands, writes
from durable.protocol.checkpoint import Checkpoint, Continue, End, GiveBack, Next, Park
from durable.protocol.continuation import continuation_of
from durable.protocol.head import TERMINAL, Head, Status
from durable.protocol.updates import HasEnded, Update
from durable.protocol.writes import Stored
from tests.protocol.heads import LATER, NOW, head

pytestmark = pytest.mark.rule("E14", "R12")

NEXT: list[Next] = [Continue(), GiveBack(), Park(LATER), Park(LATER, 0), *map(End, Status)]
STORED = Stored(b"", "", 0)


def checkpoints(standing: Head) -> Iterator[Callable[[], Update]]:
    for following in NEXT:
        for rollback in (True, False):
            for ran in (True, False):
                wanted = Checkpoint((), following, rollback=rollback, ran=ran)
                yield lambda wanted=wanted: writes.checkpoint(standing, wanted, STORED, "nonce", NOW)


def dead_letters(standing: Head) -> Iterator[Callable[[], Update]]:
    for status in Status:
        yield lambda status=status: writes.dead_letter(standing, "letter", None, status, NOW, counted=True)


MAKERS: dict[str, Callable[[Head], Iterator[Callable[[], Update]]]] = {
    "checkpoint": checkpoints,
    "dead_letter": dead_letters,
    "fence_off": lambda standing: iter([lambda: writes.fence_off(standing, NOW)]),
    "give_back": lambda standing: iter([lambda: writes.give_back(standing, "nonce", NOW)]),
    "sweep": lambda standing: iter([lambda: writes.sweep(standing, NOW, NOW)]),
    "cancel": lambda standing: iter([lambda: commands.cancel(standing, "identity", NOW, rollback=True)]),
    "terminate": lambda standing: iter([lambda: commands.terminate(standing, "identity", NOW)]),
    "pause": lambda standing: iter([lambda: commands.pause(standing, "identity")]),
    "resume": lambda standing: iter([lambda: commands.resume(standing, "identity", NOW)]),
    "act": lambda standing: iter([lambda: commands.act(standing, "identity", b"state", "", NOW)]),
    "send": lambda standing: iter([lambda: commands.send(standing, "identity", NOW)]),
}
WITHOUT_A_HEAD = {"claim"}  # its condition names the statuses
DELETES = {"purge"}  # the one write that is for executions that have ended


def makers_of(module: Any) -> set[str]:
    """The functions of a module that make an update."""
    return {
        name
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__
        and not name.startswith("_")
        and inspect.signature(function).return_annotation == "Update"
    }


def test_every_write_of_the_protocol_is_looked_at() -> None:
    assert makers_of(writes) | makers_of(commands) == {*MAKERS, *WITHOUT_A_HEAD, *DELETES}


def standing(status: Status) -> Iterator[Head]:
    for lease in (0, LATER):
        for wake in (0, LATER):
            for resume_to in ("", Status.RUNNING):
                yield head(status=status, lease=lease, wake=wake, resume_to=resume_to, nonce="nonce", fence=3)


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("status", sorted(TERMINAL))
def test_none_is_made_from_a_head_that_has_ended(status: Status, name: str) -> None:
    for ended in standing(status):
        for make in MAKERS[name](ended):
            with pytest.raises(HasEnded, match=f"execution 'order-1' is {status}"):
                make()


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("status", sorted(set(Status) - TERMINAL))
def test_none_that_is_made_from_another_holds_for_one_that_has_ended_since(status: Status, name: str) -> None:
    for known in standing(status):
        for make in MAKERS[name](known):
            update = make()
            assert update.where.status is not None
            assert not update.where.status & TERMINAL
            assert update.where.birth == known.birth


@pytest.mark.parametrize("phase", ["forward", "rollback"])
def test_nor_does_a_claim(phase: str) -> None:
    update = writes.claim(continuation_of(head()), phase, "message", "nonce", NOW, LATER)
    assert update.where.status is not None
    assert not update.where.status & TERMINAL


@pytest.mark.parametrize("name", MAKERS)
def test_each_that_may_be_repeated_carries_what_it_is_recognised_by(name: str) -> None:
    """A checkpoint has a nonce, a client's write an identity; a dead letter and a sweep are conditional on what they change.

    A fence may be raised once too often.
    """
    recognised = {"dead_letter": "message", "sweep": "due", "fence_off": "fence"}
    default = "asked" if hasattr(commands, name) else "nonce"
    for known in (head(), replace(head(status=Status.PAUSED), resume_to=Status.RUNNING)):
        for make in MAKERS[name](known):
            update = make()
            assert recognised.get(name, default) in {**update.write, **update.add}

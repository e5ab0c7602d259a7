"""Give an execution a command: cancel, terminate, pause, resume (protocol rule 7)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from msgspec import Struct

from durable.errors import ExecutionBusy, InvalidState
from durable.protocol import commands
from durable.protocol.head import AT_REST, ENDING, TERMINAL, Head, Status
from durable.protocol.updates import Update
from durable.runtime import followups
from durable.runtime.client.snapshot import current
from durable.runtime.events import ExecutionEnded
from durable.runtime.ports import Ports

TRIES = 20  # of a command while others change the execution


class Command(Struct, frozen=True):
    """A command; `applies` returns whether there is anything to write, and raises InvalidState where it can't be given."""

    name: str
    applies: Callable[[Head], bool]
    write: Callable[[Head, str, int], Update]  # of the head as read, the identity and the time


def cancel(*, rollback: bool) -> Command:
    """End with the rollback of what has started, or without."""
    return Command("cancel", _cancellable, partial(commands.cancel, rollback=rollback))


def give(ports: Ports, execution_id: str, command: Command) -> Head:
    """Write a command, and again whenever something changed in between; returns the head after it, or as it may stay."""
    identity = commands.identity_of(ports.nonces())
    seen = current(ports, execution_id)
    refused = False
    for _ in range(TRIES):
        if refused and command is RESUME and not seen.terminal and seen.status not in AT_REST:
            return seen  # another has resumed it
        if not command.applies(seen):
            return seen
        answer = ports.store.update(command.write(seen, identity, ports.clock.now()))
        if isinstance(answer, Head):
            return _given(ports, command, seen, answer)
        if answer.head is not None and commands.applied(answer.head, identity):  # its answer was lost
            return _given(ports, command, seen, answer.head)
        seen, refused = current(ports, execution_id), True
    raise ExecutionBusy(f"execution '{execution_id}' changed faster than it could be told to {command.name}; try again")


def _given(ports: Ports, command: Command, before: Head, head: Head) -> Head:
    if command is TERMINATE and head.status is Status.TERMINATED:
        ports.observer.observe(ExecutionEnded.of(head, "none"))
    if command is not PAUSE:  # which may be over before the wait is
        followups.forget(ports.queue, before, ports.clock.now())
    return head


def _cancellable(head: Head) -> bool:
    if head.status is Status.CANCELLED:
        return False
    _refuse_ended(head, "cancelled")
    return head.status not in ENDING


def _terminable(head: Head) -> bool:
    if head.status is Status.TERMINATED:
        return False
    _refuse_ended(head, "terminated")
    return True


def _pausable(head: Head) -> bool:
    if head.status is Status.PAUSED:
        return False
    if head.status in (*TERMINAL, *ENDING, Status.DIVERGED):
        raise InvalidState(f"execution '{head.execution_id}' is {head.status}: it can't be paused")
    return True


def _resumable(head: Head) -> bool:
    if head.status not in AT_REST:
        raise InvalidState(
            f"execution '{head.execution_id}' is {head.status}: only a paused or diverged one can be resumed"
        )
    return True


def _refuse_ended(head: Head, what: str) -> None:
    if head.terminal:
        raise InvalidState(f"execution '{head.execution_id}' is {head.status}: it can't be {what}")


TERMINATE = Command("terminate", _terminable, commands.terminate)
PAUSE = Command("pause", _pausable, lambda head, identity, now: commands.pause(head, identity))
RESUME = Command("resume", _resumable, commands.resume)

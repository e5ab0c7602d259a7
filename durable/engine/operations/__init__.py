"""The durable operations, one a file: what each makes of its history, and what it asks of whoever drives the replay."""

from __future__ import annotations

from durable.engine.operations.blocks import block
from durable.engine.operations.checkpoints import rollback_checkpoint
from durable.engine.operations.loops import loop
from durable.engine.operations.queues import receive
from durable.engine.operations.sleeps import sleep, sleep_until
from durable.engine.operations.steps import step
from durable.engine.operations.versions import removed, version
from durable.engine.operations.waits import wait_for
from durable.engine.scope import CodeScope


class Scope(CodeScope):
    """A scope with everything that code can ask for in it."""

    __slots__ = ()

    step = step
    sleep = sleep
    sleep_until = sleep_until
    receive = receive
    block = block
    loop = loop
    wait_for = wait_for
    rollback_checkpoint = rollback_checkpoint
    version = version
    removed = removed

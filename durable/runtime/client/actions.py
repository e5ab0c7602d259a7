"""Actions on an execution: with its state as recorded, and never beside a running step (E8)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from durable.api.actions import Action, ActionFunction
from durable.api.document import Document
from durable.api.log import ExecutionLog
from durable.api.workflow import AnyWorkflow
from durable.errors import ExecutionBusy, ExecutionNotFound, InvalidState
from durable.protocol import commands, keys
from durable.protocol.head import Head
from durable.runtime.client.snapshot import look
from durable.runtime.ports import Ports
from durable.runtime.storage.sizes import STATE_LIMIT

WAIT = 10_000  # milliseconds that an action waits for a running step
PAUSE = 0.1  # seconds between looks, doubled up to a second


def act(
    ports: Ports,
    read: Callable[[], Head],
    code: Callable[[Head], AnyWorkflow | None],
    action: ActionFunction[Any, Any, Any],
    arguments: Sequence[Any],
    named: Mapping[str, Any],
) -> Any:
    """Return what the action returns.

    One that changes the state commits it or raises ExecutionBusy, and may run again for that.
    """
    until = ports.clock.now() + WAIT
    pause = PAUSE
    while True:
        head = read()
        head, state = look(ports, head, code(head), lambda snapshot: (snapshot.head, snapshot.document))
        log = ExecutionLog({"workflow": head.workflow, "execution": head.execution_id, "action": action.name})
        if action.read_only or not head.held(ports.clock.now()):
            result = action.run(Action(state, head.execution_id, log), *arguments, **named)
            if action.read_only or _committed(ports, head, state):
                return result
        left = (until - ports.clock.now()) / 1000
        if left <= 0:
            raise ExecutionBusy(
                f"action '{action.name}' could not change execution '{head.execution_id}': its steps kept it busy. Try again."
            )
        ports.clock.sleep(min(pause, left))
        pause = min(1.0, pause * 2)


def _committed(ports: Ports, head: Head, changed: Document) -> bool:
    """Write the changed document; False when a step or another action came in between."""
    state = ports.values.checked(changed.changes(), "the state")
    if not state:
        return True
    if head.terminal:
        raise InvalidState(f"execution '{head.execution_id}' is {head.status}: its state can't be changed any more")
    nonce = ports.nonces()
    identity, state_at = commands.identity_of(nonce), ""
    if len(state) > STATE_LIMIT:
        state_at = ports.values.keep(head.execution_id, keys.state(head.birth, "action", nonce), state)
        state = b""
    answer = ports.store.update(commands.act(head, identity, state, state_at, ports.clock.now()))
    seen = answer if isinstance(answer, Head) else answer.head
    applied = isinstance(answer, Head) or (seen is not None and commands.applied(seen, identity))  # its answer was lost
    unnamed = head.state_at if applied else state_at
    if unnamed:
        ports.values.drop(head.execution_id, [unnamed])
    if seen is None:
        raise ExecutionNotFound(f"there is no execution '{head.execution_id}' any more")
    return applied

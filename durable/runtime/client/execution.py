"""An execution as its callers see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, overload

from durable.api.actions import ActionFunction
from durable.api.generics import Started
from durable.api.messages import Queue as MessageQueue
from durable.api.messages import checked_message_id, checked_queue
from durable.api.workflow import AnyWorkflow
from durable.errors import (
    ActionNotFound,
    ErrorInfo,
    ExecutionBusy,
    ExecutionFailed,
    InvalidState,
    WorkflowNotFound,
)
from durable.protocol.head import Head, Status
from durable.runtime import followups
from durable.runtime.client import actions, commanding, sending
from durable.runtime.client.history_view import HistoryEntry, RollbackOutcome
from durable.runtime.client.snapshot import Snapshot, current, look
from durable.runtime.ports import Nonces, Ports
from durable.runtime.registry import Registry
from durable.usercode.durations import Duration, later, moment_of, seconds

if TYPE_CHECKING:
    from typing import TypeVar

    from durable.api.generics import B, O, P, R, S

    A = TypeVar("A")
    T = TypeVar("T")


POLL = 0.2  # seconds between looks at an execution whose result is waited for; doubled up to:
MAX_POLL = 2.0


class Execution(Started["O", "S"]):
    """One execution. Each property reads it anew, strongly consistent; ExecutionNotFound when it has gone."""

    stored_instead = "Return its .id."

    def __init__(
        self,
        execution_id: str,
        ports: Ports,
        registry: Registry,
        workflow: AnyWorkflow | None = None,
        *,
        ids: Nonces | None = None,
    ) -> None:
        self.id = execution_id
        self._ports = ports
        self._registry = registry
        self._known = workflow  # as its caller has it: outside Lambda there may be no registry
        self._ids = ids  # for messages: they come again when a step is repeated (S11)

    # --- what it is ------------------------------------------------------------------------------------------------

    @property
    def status(self) -> str:
        """Where it stands (E1)."""
        return self._head().status

    @property
    def workflow(self) -> str:
        """The name of its workflow."""
        return self._head().workflow

    @property
    def version(self) -> int:
        """The version of its workflow, which it keeps (D7)."""
        return self._head().version

    @property
    def created_at(self) -> datetime:
        """When it was started."""
        return moment_of(self._head().created)

    @property
    def ended_at(self) -> datetime | None:
        """When it reached a terminal status."""
        ended = self._head().ended
        return moment_of(ended) if ended else None

    @property
    def output(self) -> O:
        """What the workflow returned; raises InvalidState unless it has completed."""
        head = self._head()
        if head.status is not Status.COMPLETED:
            raise InvalidState(
                f"execution '{self.id}' is {head.status}: it has no output. Look at .status, or use .result()"
            )
        output: O = self._look(lambda snapshot: snapshot.output, head)
        return output

    @property
    def error(self) -> ErrorInfo | None:
        """Why it failed, was cancelled, or diverged; always the original failure, never the rollback's (R11)."""
        return self._look(lambda snapshot: snapshot.error)

    @property
    def state(self) -> S:
        """The durable document as last recorded (S8)."""
        state: S = self._look(lambda snapshot: snapshot.state)
        return state

    @property
    def history(self) -> list[HistoryEntry]:
        """Every operation in the order of starts, then every rollback in the order in which it ran."""
        return self._look(lambda snapshot: snapshot.entries)

    @property
    def rollback(self) -> RollbackOutcome:
        """What became of its rollback."""
        return self._look(lambda snapshot: snapshot.rollback)

    def result(self, wait: Duration = 0) -> O:
        """The output once it has completed, waited for at most `wait` (seconds or a timedelta).

        Raises ExecutionFailed when it ended otherwise, ExecutionBusy when the wait is over.
        """
        until = later(self._ports.clock.now(), seconds(wait, "result: wait"))
        pause = POLL
        while True:
            head = self._head()
            if head.terminal:
                return self._result(head)
            left = (until - self._ports.clock.now()) / 1000
            if left <= 0:
                raise ExecutionBusy(
                    f"execution '{self.id}' is {head.status} and has no result yet; wait longer, or ask again"
                )
            self._ports.clock.sleep(min(pause, left))
            pause = min(MAX_POLL, pause * 2)

    # --- actions (E8) -----------------------------------------------------------------------------------------------

    @overload
    def action(self, action: ActionFunction[S, P, A], *args: P.args, **kwargs: P.kwargs) -> A: ...
    @overload
    def action(self, action: str, *args: Any, **kwargs: Any) -> Any: ...
    def action(self, action: Any, *args: Any, **kwargs: Any) -> Any:
        """Call an action of its workflow, by itself or by name, with the state as recorded (E8).

        A read-only one never waits for a running step. One that changes the state commits only while no step runs and
        the state is as read; raises ExecutionBusy when ten seconds are over, ActionNotFound for an unknown
        name, InvalidCall for arguments that it does not take, InvalidState when it would change an execution that has
        ended.
        """
        head = self._head()
        function = action if isinstance(action, ActionFunction) else self._action(head, action)
        function.check(args, kwargs)
        return actions.act(self._ports, self._head, self._code, function, args, kwargs)

    def action_named(self, name: str, arguments: Mapping[str, object]) -> Any:
        """Call an action by name, with arguments by name from plain JSON, as HTTP requests do.

        Raises ActionNotFound, and InvalidInput that names the argument that does not fit, besides what `action` raises.
        """
        head = self._head()
        function = self._action(head, name)
        return actions.act(self._ports, self._head, self._code, function, *function.arguments(arguments))

    # --- messages --------------------------------------------------------------------------------------------------

    @overload
    def send(self, queue: MessageQueue[B, R], body: B, *, wait: Duration, message_id: str | None = None) -> R: ...
    @overload
    def send(self, queue: MessageQueue[B, Any], body: B, *, message_id: str | None = None) -> None: ...
    @overload
    def send(self, queue: str, body: object, *, wait: Duration | None = None, message_id: str | None = None) -> Any: ...
    def send(self, queue: Any, body: Any, *, wait: Duration | None = None, message_id: str | None = None) -> Any:
        """Put a message into one of its queues; with `wait`, wait for the response of `message.complete` (Q3).

        A message sent before the workflow asks for it is kept (Q2). With a `message_id` of yours a repeated send is taken
        once. Raises InvalidInput when the body does not fit a declared Queue, InvalidState when the execution has ended
        (Q6), ExecutionBusy when the wait is over.
        """
        length = None if wait is None else seconds(wait, "send: wait")
        name = queue.name if isinstance(queue, MessageQueue) else checked_queue(queue)
        stored = sending.encoded(self._ports, body, queue.body if isinstance(queue, MessageQueue) else None, name)
        head = self._head()
        ids = self._ids or self._ports.nonces
        identity = ids() if message_id is None else checked_message_id(message_id)
        own_id = message_id is not None or self._ids is not None
        sending.send(self._ports, head, name, stored, identity, own_id=own_id)
        if length is None:
            return None
        until = later(self._ports.clock.now(), length)
        response = sending.response_to(self._ports, head, identity, until)
        return sending.replied(response, queue.reply if isinstance(queue, MessageQueue) else None, identity)

    # --- commands (protocol rule 7) --------------------------------------------------------------------------------

    def cancel(self, *, rollback: bool = True) -> None:
        """End it with the rollback of what has started, or without; the running step is settled first (R12).

        Asked again, or while it is failing or rolling back, nothing more happens. Raises InvalidState when it has ended
        otherwise.
        """
        head = commanding.give(self._ports, self.id, commanding.cancel(rollback=rollback))
        if head.status is Status.CANCELLING:  # by this call, or by one whose caller may have died before it sent
            followups.send_again(self._ports.queue, head, self._ports.clock.now())

    def terminate(self) -> None:
        """End it at once, with no rollback; a running step's outcome is not recorded (R12)."""
        commanding.give(self._ports, self.id, commanding.TERMINATE)

    def pause(self) -> None:
        """Let nothing more happen until `resume`; the running step is settled first (E7)."""
        commanding.give(self._ports, self.id, commanding.PAUSE)

    def resume(self) -> None:
        """Go on where it was paused, or, after a deploy that mends the code, where it diverged (E7, D6)."""
        head = commanding.give(self._ports, self.id, commanding.RESUME)
        followups.send_again(self._ports.queue, head, self._ports.clock.now())

    # --- below -----------------------------------------------------------------------------------------------------

    def _head(self) -> Head:
        return current(self._ports, self.id)

    def _look(self, at: Callable[[Snapshot], T], head: Head | None = None) -> T:
        found = self._head() if head is None else head
        return look(self._ports, found, self._code(found), at)

    def _action(self, head: Head, name: str) -> ActionFunction[Any, Any, Any]:
        workflow = self._code(head)
        if workflow is None:
            raise WorkflowNotFound(
                f"workflow '{head.workflow}' version {head.version} is not here, and with it its actions: get the execution "
                "with its workflow, client.get(workflow, id)"
            )
        if name not in workflow.actions:
            known = ", ".join(sorted(workflow.actions)) or "none"
            raise ActionNotFound(f"workflow '{head.workflow}' has no action '{name}'; it has: {known}")
        return workflow.actions[name]

    def _code(self, head: Head) -> AnyWorkflow | None:
        return self._registry.find(head.workflow, head.version) or self._known

    def _result(self, head: Head) -> O:
        if head.status is Status.COMPLETED:
            output: O = self._look(lambda snapshot: snapshot.output, head)
            return output
        known = self._look(lambda snapshot: snapshot.error, head)
        error = known or ErrorInfo(head.status.capitalize(), f"the execution was {head.status}")
        raise ExecutionFailed(f"execution '{self.id}' {head.status}: {error}", error)

    def __repr__(self) -> str:
        return f"<execution {self.id}>"

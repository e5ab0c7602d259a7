"""What the model keeps of an execution, its messages and its processes.

Numbers that only ever grow (revisions, fences, message ids) are renamed by `canonical` to the few values that the rules
can tell apart, so that the states of the model are few.
"""

from __future__ import annotations

from typing import NamedTuple

FORWARD = frozenset({"pending", "running", "waiting"})
BACKWARD = frozenset({"failing", "cancelling", "rolling_back"})
TERMINAL = frozenset({"completed", "failed", "cancelled", "terminated"})
AT_REST = frozenset({"paused", "diverged"})


class Operation(NamedTuple):
    """One operation of a workflow: a step, a sleep, a wait on a queue, or code that no longer fits its history."""

    kind: str  # step, sleep, queue, drift
    outcomes: tuple[str, ...] = ("ok",)  # what a body may do: ok, retry, terminal, poison (it kills its process)
    attempts: int = 1
    at_most_once: bool = False
    timed: bool = True  # a wait that ends by itself
    undo: tuple[str, ...] = ("ok",)  # what its rollback may do: ok, retry, poison
    undo_attempts: int = 2


def step(*outcomes: str, attempts: int = 2, undo: tuple[str, ...] = ("ok",), at_most_once: bool = False) -> Operation:
    return Operation("step", outcomes or ("ok",), attempts, at_most_once=at_most_once, undo=undo)


SLEEP = Operation("sleep")
QUEUE = Operation("queue", timed=False)
QUEUE_WITH_TIMEOUT = Operation("queue")
DRIFT = Operation("drift")


class Head(NamedTuple):
    """The head item. Every field is an attribute of the table, or follows from the history that the head carries."""

    status: str = "pending"
    revision: int = 0
    lease: str = "free"  # free, held, abandoned (its process is dead, its time is not over)
    fence: int = 0
    claim_message: int = 0
    nonce: int = 0  # of the last claim or checkpoint; 0 for all those whose answer arrived
    claims: int = 0  # forward claims since the last checkpoint; only "above zero" is ever asked, so 1 stands for many
    passed: bool = False  # claimed_at of the last forward claim was past the end of the sleep that it found
    wake: str = ""  # "" (not parked), pending, due, forever (only a message wakes)
    seen: int = 0  # the inbox that the replay saw when it parked
    inbox: int = 0
    due: str = "now"  # the due index: "", later, now
    dead: int = 0  # dead letters since the last checkpoint
    # the history
    recorded: int = 0  # operations with an outcome
    failed: bool = False  # the last of them failed, and nothing catches it
    attempts: int = 0  # outcomes of the operation at the frontier that are to be tried again
    marks: int = 0  # its start marks without an outcome
    taken: int = 0  # messages taken from the inbox
    # the rollback
    ending: str = ""  # the terminal status that the rollback leads to
    eligible: tuple[int, ...] | None = None  # in the order of rollback; None until its first checkpoint
    rolled_back: tuple[int, ...] = ()
    undoing: int = 0  # rollback claims since the last checkpoint; as with claims, 1 stands for many
    undo_attempts: int = 0
    undo_marks: int = 0
    rollback_failed: bool = False


class Message(NamedTuple):
    """A continuation. Whether it is delayed, held, visible or invisible does not matter: it may come at any time.

    It is in flight while a process handles it.
    """

    id: int
    revision: int
    dead: bool = False  # in the dead-letter queue


class Process(NamedTuple):
    """One invocation, or one client, between two of its actions. `place` is what it does next."""

    kind: str  # worker, dead letters, client
    place: str
    message: int = 0
    fence: int = 0
    revision: int = 0  # the one that it knows, or that it is about to send
    step: int = -1
    seen: int = 0  # the inbox that its replay saw
    found: bool = False  # its claim found claims above zero: a body may have run before
    marked: bool = False  # the start of its body is recorded
    nonce: int = 0  # above zero: the answer to its last write is lost, and it writes again


class Truth(NamedTuple):
    """What really happened, which no process of the protocol can see; only the properties look at it."""

    started: frozenset[int] = frozenset()  # steps whose body ran (or whose start was recorded)
    touched: frozenset[int] = frozenset()  # steps at or before which a process died: their body may have run
    bodies: int = 0  # bodies of the step at the frontier
    undos: int = 0  # bodies of the rollback that is next
    died: bool = False  # a process died with its lease since the last checkpoint


class Faults(NamedTuple):
    """What may still go wrong, and what clients may still ask for."""

    crashes: int = 0
    duplicates: int = 0
    lost_answers: int = 0
    losses: int = 0
    dead_letters: int = 0
    late: int = 0
    deploying: bool = False
    verbs: tuple[str, ...] = ()


WRITES_NO_MORE = frozenset({"send", "delete", "read"})


class State(NamedTuple):
    head: Head
    messages: tuple[Message, ...]
    processes: tuple[Process, ...]
    truth: Truth
    faults: Faults


def with_message(state: State, revision: int) -> State:
    """A new continuation is on its way."""
    used = [message.id for message in state.messages] + [process.message for process in state.processes]
    return state._replace(messages=(*state.messages, Message(max([*used, state.head.claim_message, 0]) + 1, revision)))


def without_message(state: State, identity: int) -> State:
    return state._replace(messages=tuple(message for message in state.messages if message.id != identity))


def buried(state: State, identity: int) -> State:
    """The message is in the dead-letter queue."""
    messages = (message._replace(dead=True) if message.id == identity else message for message in state.messages)
    return state._replace(messages=tuple(messages))


def with_process(state: State, old: Process | None, new: Process | None) -> State:
    """`old` has become `new`; None stands for "not there"."""
    processes = list(state.processes)
    if old is not None:
        processes.remove(old)
    if new is not None:
        processes.append(new)
    return state._replace(processes=tuple(processes))


def stale(head: Head, message: Message) -> bool:
    """Of an older revision, and claimed by another: no rule will ever do anything with it but delete it (rule 3)."""
    return message.revision < head.revision and message.id != head.claim_message


def canonical(state: State) -> State:
    """The representative of all states that the rules can't tell from this one.

    A stale message counts as deleted, and who only deletes a message that is gone has ended. A revision is the head's or
    an older one (zero is kept apart: `start` asks for it); a fence is the holder's or lost; a nonce lives while its
    writer waits for an answer; message ids follow from what is known of the messages.
    """
    head, messages, processes, truth, faults = state
    current = head.revision and 2
    messages = tuple(message for message in messages if not stale(head, message))
    present = {message.id for message in messages}
    processes = tuple(
        process for process in processes if process.place != "delete" or process.message in present or process.nonce
    )

    carriers: dict[int, list[tuple[str, str, int]]] = {}
    for process in processes:
        carriers.setdefault(process.message, []).append((process.kind, process.place, process.step))
    ordered = sorted(
        (
            current if message.revision == head.revision else 1,
            message.dead,
            message.id == head.claim_message,
            sorted(carriers.get(message.id, ())),
            message.id,
        )
        for message in messages
    )
    names = {message[4]: name for name, message in enumerate(ordered, 1)}

    processes = tuple(
        sorted(
            process._replace(
                message=names.get(process.message, 0),
                fence=1 if process.fence == head.fence and process.place not in WRITES_NO_MORE else 0,
                revision=current if process.revision == head.revision else 1,
            )
            for process in processes
        )
    )
    waits_for_answer = head.nonce and any(process.nonce == head.nonce for process in processes)
    head = head._replace(
        revision=current,
        fence=1,
        claim_message=names.get(head.claim_message, 0),
        nonce=head.nonce if waits_for_answer else 0,
    )
    messages = tuple(Message(name, message[0], message[1]) for name, message in enumerate(ordered, 1))
    return State(head, messages, processes, truth, faults)

"""The history of an execution: its entries as a tree of scopes.

Code runs in scopes: the root, blocks, loops and their iterations. Each scope knows what is recorded in it and how much of
that the code has not asked for yet in this replay, so every question about a scope costs the same, however long the
history is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from durable.engine import paths
from durable.engine.entries import (
    CauseEntry,
    ChainEntry,
    CheckpointEntry,
    DivergenceEntry,
    Entry,
    InputEntry,
    LoopEntry,
    Operation,
    OutputEntry,
    QueueEntry,
    ReplyEntry,
    RollbackEntry,
    SleepEntry,
    StepEntry,
    VersionEntry,
)


class RecordedScope:
    """What is recorded in one scope, and how much of it the code has not asked for yet."""

    __slots__ = ("asked", "entries", "latest_undoable", "left", "parent", "passed", "path", "scopes")

    def __init__(self, path: str, parent: RecordedScope | None) -> None:
        self.path = path
        self.parent = parent
        self.entries: dict[str, Operation] = {}  # by the last name of their path
        self.scopes: dict[str, RecordedScope] = {}  # inside this one, by path
        self.asked: set[str] = set()  # what the code has asked for in this replay
        self.passed = False  # whether all of it counts as asked for
        self.left = 0  # entries, here and in the scopes inside, that the code has not asked for
        self.latest_undoable = 0  # the latest start of a step with a rollback, here or inside

    def ask(self, name: str) -> None:
        """Note that the code has asked for this operation."""
        if name not in self.asked:
            self.asked.add(name)
            if name in self.entries:
                self.count(-1)

    def pass_over(self) -> None:
        """Count everything in this scope as asked for."""
        self.passed = True
        self.count(-self.left)

    def has_asked(self, name: str) -> bool:
        """Return whether the code has asked for this operation, or passed over it with its scope."""
        scope: RecordedScope | None = self
        while scope is not None and not scope.passed:
            scope = scope.parent
        return scope is not None or name in self.asked

    def count(self, change: int) -> None:
        """Change what is left to be asked for, here and in the scopes around."""
        scope: RecordedScope | None = self
        while scope is not None:
            scope.left += change
            scope = scope.parent

    def start_again(self) -> int:
        """Count everything as not asked for: another replay begins. Return how much that is."""
        self.asked = set()
        self.passed = False
        self.left = len(self.entries) + sum(scope.start_again() for scope in self.scopes.values())
        return self.left

    def walk(self) -> Iterator[Operation]:
        """Yield the entries of this scope and of those inside."""
        yield from self.entries.values()
        for scope in self.scopes.values():
            yield from scope.walk()

    def unasked(self) -> Iterator[Operation]:
        """Yield the entries that the code has not asked for."""
        if self.left:
            yield from (entry for name, entry in self.entries.items() if name not in self.asked)
            for scope in self.scopes.values():
                yield from scope.unasked()


class History:
    """The entries of one execution. A later entry of the same kind and path replaces the earlier one."""

    __slots__ = (
        "boundary",
        "cause",
        "chain",
        "divergence",
        "forgotten",
        "input",
        "next_order",
        "outlived",
        "output",
        "replies",
        "rollbacks",
        "root",
        "scopes",
    )

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.input: InputEntry | None = None
        self.cause: CauseEntry | None = None
        self.chain: ChainEntry | None = None
        self.divergence: DivergenceEntry | None = None
        self.output: OutputEntry | None = None
        self.rollbacks: dict[str, RollbackEntry] = {}
        self.replies: dict[str, RecordedScope] = {}  # where each response was given, by its path
        self.outlived: dict[str, ReplyEntry] = {}  # responses that were given in what is forgotten now
        self.root = RecordedScope("", None)
        self.scopes = {"": self.root}
        self.next_order = 1  # the place of the next operation in the order of starts
        self.boundary = 0  # the place of the last rollback checkpoint: what started before it is not rolled back
        self.forgotten: list[str] = []  # references of values that no entry holds any more
        for entry in entries:
            self.record(entry)
        self.forgotten = []

    def record(self, entry: Entry) -> None:
        """Take an entry in."""
        match entry:
            case StepEntry() | SleepEntry() | QueueEntry() | ReplyEntry() | LoopEntry() | VersionEntry():
                self._record(entry)
            case CheckpointEntry():
                self._record(entry)
                self.boundary = max(self.boundary, entry.order)
            case RollbackEntry():
                self.rollbacks[entry.path] = entry
            case InputEntry():
                self.input = entry
            case CauseEntry():
                self.cause = entry
            case ChainEntry():
                self.chain = entry
            case OutputEntry():
                self.output = entry
            case DivergenceEntry():
                self.divergence = entry
            case _:
                assert_never(entry)

    def scope(self, path: str) -> RecordedScope:
        """Return what is recorded in the scope of this path."""
        found = self.scopes.get(path)
        if found is None:
            around = self.scope(paths.around(path))
            found = self.scopes[path] = around.scopes[path] = RecordedScope(path, around)
        return found

    def operation(self, path: str) -> Operation | None:
        """Return the entry of an operation; None when nothing is recorded for it."""
        scope, name = paths.split(path)
        recorded = self.scopes.get(scope)
        return recorded.entries.get(name) if recorded is not None else None

    @property
    def operations(self) -> list[Operation]:
        """The entries of all operations, in the order in which they started."""
        return sorted([*self.root.walk(), *self.outlived.values()], key=lambda entry: entry.order)

    def is_answered(self, reply: str) -> bool:
        """Return whether the code has given this response before."""
        if reply in self.outlived:
            return True
        scope = self.replies.get(reply)
        return scope is not None and any(scope.has_asked(name) for name in (reply, paths.leaf(reply)))

    def undoable_steps(self) -> list[StepEntry]:
        """Return the started steps whose rollbacks a failure would run, latest start first."""
        found = [
            entry
            for entry in self.root.walk()
            if isinstance(entry, StepEntry) and entry.undoable and entry.order > self.boundary
        ]
        return sorted(found, key=lambda entry: entry.order, reverse=True)

    def _record(self, entry: Operation) -> None:
        path, name = location(entry)
        scope = self.scope(path)
        before = scope.entries.get(name)
        scope.entries[name] = entry
        if before is not None:
            held = entry.references
            self.forgotten += [reference for reference in before.references if reference not in held]
        elif name not in scope.asked:
            scope.count(1)
        if entry.order >= self.next_order:
            self.next_order = entry.order + 1
        if isinstance(entry, StepEntry):
            if entry.undoable:
                _raise_latest(scope, entry.order)
        elif isinstance(entry, ReplyEntry):
            self.replies[entry.path] = scope
        elif isinstance(entry, LoopEntry):
            self.next_order = max(self.next_order, entry.latest + 1)
            self.boundary = max(self.boundary, entry.boundary)
            self._forget_iterations(entry)

    def _forget_iterations(self, loop: LoopEntry) -> None:
        """Drop the iterations that a loop no longer keeps."""
        inside = self.scopes.get(loop.path)
        if inside is None:
            return
        for path in [path for path in inside.scopes if paths.number_of(path) < loop.kept_from]:
            scope = inside.scopes.pop(path)
            scope.pass_over()
            self._drop(scope)

    def _drop(self, scope: RecordedScope) -> None:
        del self.scopes[scope.path]
        for entry in scope.entries.values():
            self.forgotten += entry.references
            if isinstance(entry, ReplyEntry):
                self._outlive(entry, scope)
        for inner in scope.scopes.values():
            self._drop(inner)

    def _outlive(self, reply: ReplyEntry, scope: RecordedScope) -> None:
        """Keep that a message was answered, if it is of a wait outside of what is forgotten."""
        del self.replies[reply.path]
        wait, _, _ = reply.path.rpartition(paths.SEPARATOR)
        if paths.split(wait)[0] in self.scopes and reply.inside:
            self.outlived[reply.path] = reply

    def __iter__(self) -> Iterator[Entry]:
        """Yield every live entry: the input, the operations by start, the cause, the rollbacks, the end."""
        if self.input is not None:
            yield self.input
        yield from self.operations
        for entry in (self.cause, self.chain):
            if entry is not None:
                yield entry
        yield from self.rollbacks.values()
        for end in (self.output, self.divergence):
            if end is not None:
                yield end


def location(entry: Operation) -> tuple[str, str]:
    """Return the scope where the code asked for an operation, and its name there.

    A reply that is given further in than its message was taken belongs to the scope where it is given.
    """
    if isinstance(entry, ReplyEntry) and entry.inside:
        return entry.inside, entry.path
    return paths.split(entry.path)


def _raise_latest(scope: RecordedScope | None, order: int) -> None:
    while scope is not None and scope.latest_undoable < order:
        scope.latest_undoable = order
        scope = scope.parent

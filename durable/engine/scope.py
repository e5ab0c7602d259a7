"""A scope: a stretch of code with its own names, and where the code is in it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import NoReturn, Self, TypeVar

from durable.engine.branch import Branch
from durable.engine.history import RecordedScope
from durable.engine.paths import Names
from durable.errors import NestedStep, WrongThread

T = TypeVar("T")


class CodeScope:
    """The root of a branch, a block or an iteration."""

    __slots__ = ("_names", "_uses", "branch", "inside", "open", "recorded")

    def __init__(self, branch: Branch, recorded: RecordedScope) -> None:
        self.branch = branch
        self.recorded = recorded
        self.open = True
        self.inside: Self | None = None  # the scope in it where the code is now
        self._names = Names(recorded.path)
        self._uses: dict[str, int] = {}

    @property
    def execution_id(self) -> str:
        """The execution's id."""
        return self.branch.replay.execution_id

    @property
    def path(self) -> str:
        """The path of the scope; empty for the root."""
        return self.recorded.path

    @property
    def innermost(self) -> Self:
        """The scope where the code is now: this one, or one inside it."""
        return self if self.inside is None else self.inside.innermost

    def enter(self) -> Branch:
        """Refuse an operation that may not happen here and now; return the branch."""
        branch = self.reach()
        if self.inside is not None:
            raise WrongThread(
                f"the context of '{self.path or 'the workflow'}' was used inside '{self.innermost.path}', which has a context "
                "of its own: use the context that is passed to the function you are in"
            )
        return branch

    def reach(self) -> Branch:
        """The same for what belongs to an operation of this scope, and may be used in a scope inside it too."""
        branch = self.branch
        if not (self.open and branch.is_current):
            self._refuse()
        branch.check_open()
        return branch

    def _refuse(self) -> NoReturn:
        if not self.branch.is_current and (occupied := self.branch.replay.occupied):
            holder = "a rollback" if occupied.startswith("the rollback") else "a step"
            raise NestedStep(
                f"a durable operation was called inside {occupied}: {holder} can't hold another. "
                "Call it from the workflow function, or call the plain function instead."
            )
        if not self.open:
            raise WrongThread(
                f"the context of '{self.path or 'the workflow'}' was used after its scope had ended: use the context that "
                "is passed to the function you are in"
            )
        raise WrongThread(
            "a context was used from another thread than the workflow's: pass values to threads, not the context."
        )

    def name(self, name: str) -> tuple[str, str]:
        """Return the path of the next operation of this name, and its last name with its count."""
        return self._names.next(name)

    def within(self, path: str, run: Callable[[Self], T]) -> T:
        """Run code in a scope inside this one, which can't be used meanwhile."""
        inner = type(self)(self.branch, self.branch.replay.history.scope(path))
        self.inside = inner
        try:
            return run(inner)
        finally:
            inner.open = False
            self.inside = None

    # --- what is the same on every replay --------------------------------------------------------------------------

    def clock(self) -> int:
        """Return the time of the last thing that was recorded, in milliseconds since the epoch."""
        return self.enter().clock

    def seed(self, use: str) -> bytes:
        """Return bytes by the operation passed last and how often they were asked for since: one more call shifts no other."""
        branch = self.enter()
        place = f"{use}\0{self.path}\0{branch.last}"
        count = self._uses[place] = self._uses.get(place, 0) + 1
        return hashlib.sha256(f"{branch.replay.life}\0{place}\0{count}".encode()).digest()

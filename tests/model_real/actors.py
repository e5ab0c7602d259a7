"""An actor: an invocation or a client, which stops before each call of a port."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol, TypeVar

from greenlet import getcurrent, greenlet

from durable.engine.interrupts import ProcessEnds
from durable.runtime.events import BodyStarted, Event

T = TypeVar("T")


class ProcessDied(ProcessEnds):
    """The process is gone: what was about to happen in it never happens."""


@dataclass
class Call:
    """A call of a port that waits to be let go."""

    name: str
    apply: Callable[[], Any]
    caller: greenlet
    writes: bool = False  # to the head of an execution: what others can see, and what the SDK repeats
    body: bool = False  # no call, but the beginning of a body


class Actor:
    """One invocation, or one thing that a client does."""

    def __init__(self, name: str, run: Callable[[Actor], object], *, offset: int = 0) -> None:
        self.name = name
        self.offset = offset  # milliseconds by which the clock of its process is fast
        self.pending: Call | None = None
        self.result: object = None
        self.error: BaseException | None = None
        self.dead = False
        self.in_body = ""  # the path of the body that it runs
        self.late = False  # it may work past its lease: its clock is wrong, or it was frozen
        self.deadline = 0  # when Lambda stops its process; 0: never
        self._run = run
        self._thread = threading.get_ident()
        self._scheduler = getcurrent()
        self._greenlet = greenlet(self._main, self._scheduler)

    @property
    def ended(self) -> bool:
        """Whether it will make no more calls."""
        return bool(self._greenlet.dead) or self.dead

    def start(self) -> None:
        """Run to the first call."""
        self._take(self._greenlet.switch())

    def go_on(self, value: object) -> None:
        """Return from the pending call, and run to the next."""
        assert self.pending is not None
        self._take(self.pending.caller.switch(value))

    def fail(self, error: BaseException) -> None:
        """Raise from the pending call, and run to the next."""
        assert self.pending is not None
        self._take(self.pending.caller.throw(error))

    def die(self) -> None:
        """The process is gone. Nothing that its code still does has an effect."""
        self.dead = True
        call, self.pending = self.pending, None
        if call is not None:
            call.caller.throw(ProcessDied())

    def call(self, name: str, apply: Callable[[], T], *, writes: bool = False, body: bool = False) -> T:
        """Stop before a call; what it returns once it was let go. From a thread of a body it is made at once."""
        if threading.get_ident() != self._thread:
            return apply()
        if self.dead:
            raise ProcessDied
        answer: T = self._scheduler.switch(Call(name, apply, getcurrent(), writes, body))
        return answer

    def _take(self, call: object) -> None:
        self.pending = call if isinstance(call, Call) and not self.dead else None

    def _main(self) -> None:
        try:
            self.result = self._run(self)
        except ProcessDied:
            self.dead = True
        except BaseException as error:
            self.error = error


WRITES = frozenset({"create", "update", "together", "purge"})
AT_ONCE = frozenset({"due"})  # looking for what is due decides nothing: it does not wait


class ActorPort:
    """Stands for a port: each call of it waits to be let go."""

    def __init__(self, actor: Actor, port: Any) -> None:
        self._actor = actor
        self._port = port

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._port, name)

        def call(*arguments: Any, **named: Any) -> Any:
            if name in AT_ONCE:
                return method(*arguments, **named)
            return self._actor.call(name, lambda: method(*arguments, **named), writes=name in WRITES)

        return call


@dataclass(frozen=True)
class ActorProcess:
    """Implements `durable.runtime.ports.Process`."""

    actor: Actor

    def exit(self) -> NoReturn:
        """End the process."""
        self.actor.dead = True
        raise ProcessDied


class Began(Protocol):
    """Is told that a body begins."""

    def __call__(self, actor: Actor, path: str, *, rollback: bool) -> None: ...


@dataclass(frozen=True)
class ActorObserver:
    """Implements `durable.runtime.ports.Observer`: the beginning of a body waits to be let go."""

    actor: Actor
    began: Began

    def observe(self, event: Event) -> None:
        """Stop before a body."""
        if isinstance(event, BodyStarted):
            name = f"{'undo ' if event.rollback else ''}{event.path}"
            self.actor.call(name, lambda: self.began(self.actor, event.path, rollback=event.rollback), body=True)


@dataclass
class Numbers:
    """Implements `durable.runtime.ports.Nonces`: one after the other, the same in every run of a schedule."""

    prefix: str
    count: int = 0

    def __call__(self) -> str:
        """Return the next."""
        self.count += 1
        return f"{self.prefix}{self.count}"


@dataclass
class Time:
    """The time of the world."""

    now: int


@dataclass(frozen=True)
class ActorClock:
    """Implements `durable.runtime.ports.Clock`: the world's time, as the process sees it."""

    actor: Actor
    time: Time

    def now(self) -> int:
        """Return the time."""
        return self.time.now + self.actor.offset

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.time.now += round(seconds * 1000)

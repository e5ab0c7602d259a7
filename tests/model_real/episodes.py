"""An episode: from one state of rest to the next, under one schedule; and all schedules, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from durable.errors import StoreError
from tests.model_real.actors import Actor
from tests.model_real.truth import Violation
from tests.model_real.world import State, World


@dataclass
class Option:
    """Something that can happen next."""

    label: str
    take: Callable[[], object]
    fault: bool = False
    preempts: bool = False


Choose = Callable[[Sequence[Option]], int]
LIMIT = 400  # choices: an episode that takes more goes round in circles


class Episode:
    """One way from a state of rest to another."""

    def __init__(self, world: World, choose: Choose) -> None:
        self.world = world
        self.labels: list[str] = []
        self.faulty = False  # a fault struck, or a client asked for something
        self._choose = choose
        self._last: Actor | None = None
        self._preemptions = world.case.preemptions

    def run(self) -> bool:
        """Go to the next state of rest; False when nothing can happen any more."""
        options = self._first()
        if not options:
            return False
        self._take(options)
        while self.world.live:
            self._take(self._next())
            if len(self.labels) > LIMIT:
                raise Violation("an episode without end")
        self.world.check()
        return True

    def _take(self, options: Sequence[Option]) -> None:
        option = options[self._choose(options)]
        self.labels.append(option.label)
        self.faulty = self.faulty or option.fault
        if option.preempts:
            self._preemptions -= 1
        option.take()

    # --- what can happen ------------------------------------------------------------------------------------------------

    def _first(self) -> list[Option]:
        """While nothing is under way."""
        world = self.world
        options = self._beginnings()
        for message in world.visible():
            if world.left.losses:
                options.append(Option(f"{message.id} is lost", partial(world.lose, message), fault=True))
        if world.left.duplicates:
            known = {message.id: message for message in world.messages.waiting() if message.queue == "work"}
            for message in known.values():
                label = f"{message.id} will come once more"
                options.append(Option(label, partial(world.duplicate, message), fault=True))
        if not world.visible() and world.unrelayed() is None:
            if world.sweepable():
                options.append(Option("the sweeper looks", self._starting(world.sweep)))
            for moment in world.moments()[:1]:
                options.append(Option(f"{moment - world.time.now} ms pass", partial(world.pass_to, moment)))
        return options

    def all_options(self) -> list[Option]:
        """What can happen next, whatever is under way."""
        return self._next() if self.world.live else self._first()

    def kill(self, actor: Actor) -> None:
        """End an actor's process, in whatever it is."""
        actor.in_body = ""
        actor.die()

    def _beginnings(self) -> list[Option]:
        """What can begin, whatever else is under way."""
        world = self.world
        options = [
            Option(f"deliver {message.id} to {message.queue}", self._starting(partial(world.deliver, message)))
            for message in world.visible()
        ]
        change = world.unrelayed()
        if change is not None:
            options.append(
                Option(f"the stream tells {change.after.status}", self._starting(partial(world.relay, change)))
            )
        for command in world.left.commands:
            if command == "resume" and "pause" not in world.truth.done:
                continue
            label = f"a client asks: {command}"
            options.append(Option(label, self._starting(partial(world.command, command)), fault=True))
        return options

    def _next(self) -> list[Option]:
        """While something is under way."""
        world, live = self.world, self.world.live
        current = self._last if self._last in live else None
        options = self._of(current) if current is not None else []
        if current is None or self._preemptions:
            for actor in live:
                if actor is not current:
                    options += [self._preempting(option, current) for option in self._of(actor)]
        if self._preemptions and len(live) < world.case.actors:
            options += [self._preempting(option, live[0]) for option in self._beginnings()]
        return options

    @staticmethod
    def _preempting(option: Option, current: Actor | None) -> Option:
        option.preempts = current is not None
        return option

    def _of(self, actor: Actor) -> list[Option]:
        """What can become of the call in which an actor waits."""
        call = actor.pending
        assert call is not None
        label = f"{actor.name}: {call.name}"
        options = [Option(label, lambda: self._let(actor))]
        if not self.world.left.faults:
            return options
        options.append(Option(f"{actor.name} dies before: {call.name}", lambda: self._kill(actor), fault=True))
        if call.writes:
            lost = f"{label}, applied; its answer is lost, and it is sent again"
            options.append(Option(lost, lambda: self._lose_answer(actor), fault=True))
        if not call.body and call.name != "delete":  # Lambda deletes the message, and where it can't, it comes again
            options.append(Option(f"{label}, refused", lambda: self._refuse(actor), fault=True))
        if call.writes or call.name == "send":
            options.append(Option(f"{label}, applied; it fails", lambda: self._fail(actor), fault=True))
        return options

    # --- what happens ---------------------------------------------------------------------------------------------------

    def _starting(self, begin: Callable[[], object]) -> Callable[[], object]:
        def start() -> None:
            before = len(self.world.actors)
            begin()
            self._last = self.world.actors[before]

        return start

    def _let(self, actor: Actor) -> None:
        self._last = actor
        call = actor.pending
        assert call is not None
        actor.in_body = ""
        try:
            value = call.apply()
        except StoreError as error:
            actor.fail(error)
            return
        actor.go_on(value)

    def _kill(self, actor: Actor) -> None:
        self._last = actor
        self._accident()
        call = actor.pending
        if call is not None and call.body:
            call.apply()  # the body has begun
        actor.in_body = ""
        actor.die()

    def _lose_answer(self, actor: Actor) -> None:
        self._last = actor
        self.world.fault()
        self.world.truth.lost += 1
        call = actor.pending
        assert call is not None
        actor.in_body = ""
        call.apply()

    def _refuse(self, actor: Actor) -> None:
        self._last = actor
        self._accident()
        actor.fail(StoreError("by a fault of the schedule"))

    def _accident(self) -> None:
        self.world.fault()
        self.world.truth.accidents += 1

    def _fail(self, actor: Actor) -> None:
        self._last = actor
        self._accident()
        call = actor.pending
        assert call is not None
        actor.in_body = ""
        call.apply()
        actor.fail(StoreError("by a fault of the schedule, after it was applied"))


class Schedules:
    """All choices, depth first: each run takes the next schedule."""

    def __init__(self) -> None:
        self._taken: list[tuple[int, int]] = []  # the choice, of how many
        self._at = 0
        self.count = 0

    def choose(self, options: Sequence[Option]) -> int:
        """Return the next choice of this schedule."""
        if self._at == len(self._taken):
            self._taken.append((0, len(options)))
        choice, among = self._taken[self._at]
        if among != len(options):
            raise AssertionError("a schedule that is run again goes another way: something is left to chance")
        self._at += 1
        return choice

    def __iter__(self) -> Iterator[Choose]:
        while True:
            self._at = 0
            self.count += 1
            yield self.choose
            while self._taken and self._taken[-1][0] + 1 == self._taken[-1][1]:
                self._taken.pop()
            if not self._taken:
                return
            choice, among = self._taken[-1]
            self._taken[-1] = (choice + 1, among)


def episodes(world: World, state: State) -> Iterator[Episode]:
    """Every episode from a state; the world is where it leads to, until the next is asked for."""
    for choose in Schedules():
        world.restore(state)
        episode = Episode(world, choose)
        try:
            moved = episode.run()
        except Violation as violation:
            violation.add_note("".join(f"\n  {label}" for label in episode.labels))
            raise
        if not moved:
            return
        yield episode

"""Long random schedules: three invocations at once, every fault, clocks that differ, processes that freeze for a day."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from random import Random

from durable.protocol.head import AT_REST, Status
from tests.model_real.actors import Actor
from tests.model_real.cases import Case
from tests.model_real.episodes import Episode, Option
from tests.model_real.truth import Violation
from tests.model_real.world import World

DAY = 86_400_000
SKEWS = (0, 0, 0, 120_000, -120_000)  # milliseconds by which a clock is fast
CHOICES = 250  # of a walk, before it comes to rest
MOST = 2_000  # choices in which an execution must end that nothing befalls any more


class Walk:
    """One execution, and what befalls it."""

    def __init__(self, case: Case, seed: int) -> None:
        self.world = World(case.but(faults=1_000_000, duplicates=6, losses=3, preemptions=1_000_000, actors=3))
        self.labels: list[str] = []
        self._chance = Random(seed)
        self._episode = Episode(self.world, self._choose)

    def run(self) -> None:
        """Walk, then let it come to its end; raises Violation with the whole way."""
        try:
            for _ in range(CHOICES):
                self._step(faults=True)
            self._rest()
        except Violation as violation:
            violation.add_note("".join(f"\n  {label}" for label in self.labels))
            raise

    def _rest(self) -> None:
        """Nothing more goes wrong, and nobody keeps it: it must end by itself."""
        world = self.world
        for actor in world.live:
            if actor.late:
                actor.die()
        for _ in range(MOST):
            if not world.live and world.head.status is Status.PAUSED:
                world.command("resume")
            if not world.live and world.head.terminal and not world.visible():
                break
            if not self._step(faults=False):
                if world.head.wake and "send" not in world.truth.done:
                    world.command("send")
                    continue
                break
        world.check()
        if not world.head.terminal and world.head.status not in AT_REST:
            raise Violation(f"the execution stays {world.head.status}")

    def _step(self, *, faults: bool) -> bool:
        """Take one choice; False when there is none."""
        world = self.world
        self._stop_late()
        options = [each for each in self._episode.all_options() if faults or not each.fault]
        if faults:
            options += self._accidents()
        if not options:
            return False
        option = options[self._choose(options)]
        self.labels.append(option.label)
        option.take()
        if not world.live:
            world.check()
            world.actors.clear()
        return True

    def _stop_late(self) -> None:
        """Lambda stops what is over its time, unless it was frozen with it."""
        for actor in self.world.live:
            if actor.deadline and self.world.time.now > actor.deadline and not actor.late:
                self.labels.append(f"{actor.name} is stopped: its time is over")
                self.world.truth.accidents += 1
                self._episode.kill(actor)

    def _accidents(self) -> list[Option]:
        """What may befall it besides."""
        world = self.world
        if not world.live:
            return []
        options = [Option("20 s pass", lambda: world.pass_to(world.time.now + 20_000), fault=True)]
        options += [
            Option(f"{actor.name} freezes for a day", partial(self._freeze, actor), fault=True) for actor in world.live
        ]
        options += [
            Option(f"the clock of {actor.name} is set", partial(self._set_clock, actor), fault=True)
            for actor in world.live
            if not actor.late
        ]
        return options

    def _freeze(self, actor: Actor) -> None:
        actor.late = True
        self.world.truth.accidents += 1
        self.world.pass_to(self.world.time.now + DAY)

    def _set_clock(self, actor: Actor) -> None:
        actor.late = True
        self.world.truth.accidents += 1
        actor.offset = self._chance.choice(SKEWS)

    def _choose(self, options: Sequence[Option]) -> int:
        weights = [0.06 if option.fault else 0.25 if option.preempts else 1.0 for option in options]
        return self._chance.choices(range(len(options)), weights)[0]

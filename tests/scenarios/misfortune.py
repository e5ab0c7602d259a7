"""Where misfortune strikes: at a call of a function, or in a body; and a saga that is taken through it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from durable.testing import Harness
from tests.scenarios.outside import Outside
from tests.scenarios.sagas import Saga, sagas
from tests.stores import sampled

FUNCTIONS = ("Worker", "TerminalFailure")
TOGETHER = 5  # trials in one deployment
KINDS = ("die before", "die after", "lose answer", "refuse")


@dataclass(frozen=True)
class Strike:
    """One misfortune: at the nth call of a function, or in the nth body."""

    kind: str
    nth: int
    by: str = ""

    def plan(self, durable: Harness, outside: Outside) -> None:
        """Let it happen in what runs next."""
        faults = durable.faults
        match self.kind:
            case "die before":
                faults.before(self.nth, faults.die, by=self.by)
            case "die after":
                faults.after(self.nth, faults.die, by=self.by)
            case "lose answer":
                faults.after(self.nth, faults.lose_answer, by=self.by)
            case "refuse":
                faults.before(self.nth, faults.refuse("AccessDeniedException"), by=self.by)
            case "die before the effect":
                faults.in_body(self.nth, faults.die)
            case "die after the effect":
                outside.after(self.nth, faults.die)

    @property
    def repeats(self) -> bool:
        """Whether a body may run once more for it: its process died, or its record could not be written."""
        return self.kind != "lose answer"

    def __str__(self) -> str:
        return f"{self.kind} {self.by or 'body'} {self.nth}"


class Trial:
    """A deployment in which sagas run one after the other, each through its own misfortune. The sweeper is down."""

    def __init__(self, durable: Harness, outside: Outside, saga: Saga) -> None:
        self.durable = durable
        self.outside = outside
        self.saga = saga
        outside.durable = durable

    def run(self, strikes: Sequence[Strike]) -> list[str]:
        """Take one execution through the strikes; everything that is then not as it should be."""
        durable, outside, saga = self.durable, self.outside, self.saga
        durable.faults.before(1, durable.faults.die, by="Sweeper", times=1_000_000)
        for strike in strikes:
            strike.plan(durable, outside)
        execution = durable.start(saga.workflow)
        saga.prepare(durable, execution.id)
        durable.run()
        durable.faults.clear()
        durable.faults.on_body.clear()
        outside.clear()
        seen = outside.seen.pop(execution.id)
        error = execution.error
        stands = {
            "status": execution.status,
            "output": execution.output if execution.status == "completed" else None,
            "error": None if error is None else str(error),
            "rollback": execution.rollback,
            "effects": seen.done,
            "state": execution.state,
            "messages": [message.body for message in durable.messages(None)],
            "wrong": seen.wrong,
        }
        wanted = {
            "status": saga.status,
            "output": saga.output,
            "error": saga.error,
            "rollback": saga.rollback,
            "effects": [effect for effect in saga.effects if effect not in saga.unsure or effect in seen.done],
            "state": saga.state,
            "messages": [],
            "wrong": [],
        }
        found = [f"{name}: {stands[name]}, not {wanted[name]}" for name in wanted if stands[name] != wanted[name]]
        most = 1 + sum(strike.repeats for strike in strikes)
        for body, times in seen.count.items():
            if times > most:
                found.append(f"{body}: {times} runs, of at most {most}")
        return [f"{' and '.join(map(str, strikes))}: {problem}" for problem in found]


def calls_of(trial: Trial) -> dict[str, int]:
    """How many calls each function makes in a run in which nothing goes wrong, and how many bodies run."""
    durable = trial.durable
    calls, bodies = len(durable.calls), len(durable.faults.bodies)
    assert trial.run([]) == []
    made = [call.by for call in durable.calls[calls:]]
    return {function: made.count(function) for function in FUNCTIONS} | {"": len(durable.faults.bodies) - bodies}


def strikes(counted: dict[str, int]) -> Iterator[Strike]:
    """Every misfortune that can strike once."""
    for function in FUNCTIONS:
        for nth in range(1, counted[function] + 1):
            yield from (Strike(kind, nth, function) for kind in KINDS)
    for nth in range(1, counted[""] + 1):
        yield Strike("die before the effect", nth)
        yield Strike("die after the effect", nth)


def struck_everywhere(make: Callable[[Outside], Saga], steps: int, chunk: int, chunks: int) -> list[str]:
    """A saga is taken through every misfortune of its chunk; everything that went wrong.

    A few at a time in one deployment: each transaction makes moto copy all that the table has seen.
    """
    plan = sampled(planned(make, steps)[chunk::chunks])
    found: list[str] = []
    for start in range(0, len(plan), TOGETHER):
        outside = Outside()
        saga = make(outside)
        with Harness(workflows=[saga.workflow], steps_per_invocation=steps) as durable:
            trial = Trial(durable, outside, saga)
            found += [problem for strike in plan[start : start + TOGETHER] for problem in trial.run([strike])]
    return found


def planned(
    make: Callable[[Outside], Saga], steps: int, prepare: Callable[[Harness], None] = lambda durable: None
) -> list[Strike]:
    """Every misfortune that can strike a saga; `prepare` sets up what it needs beside."""
    outside = Outside()
    saga = make(outside)
    with Harness(workflows=[saga.workflow], steps_per_invocation=steps) as durable:
        prepare(durable)
        return list(strikes(calls_of(Trial(durable, outside, saga))))


def saga_named(name: str, outside: Outside) -> Saga:
    """The saga of this name, over this world."""
    return sagas(outside)[name]

"""One thing that happens, and what it leaves behind."""

from __future__ import annotations

from typing import NamedTuple

from tests.model.state import Message, State


class Transition(NamedTuple):
    """`fault`: liveness may not count on it (nor on what clients ask for)."""

    label: str
    state: State
    fault: bool = False


def spend(state: State, budget: str) -> State:
    """One fault less may strike."""
    faults = state.faults
    return state._replace(faults=faults._replace(**{budget: getattr(faults, budget) - 1}))


def named(state: State, message: Message) -> str:
    return ("the current" if message.revision == state.head.revision else "an older") + " message"


def fresh_nonce(state: State) -> int:
    """Each write has its own nonce; the model names only those that somebody still has to compare."""
    return 1 + max((process.nonce for process in state.processes), default=0)

"""Decide what a replay does with an operation that the code asks for. It is decided in these tables and nowhere else.

A step (its entry in the history; `now`; `charged` counts failed attempts and those that took their process with them):

    | recorded    | and                             | decision                                  | rule    |
    |-------------|---------------------------------|-------------------------------------------|---------|
    | nothing     |                                 | RUN the first attempt                     | D1      |
    | completed   |                                 | REPLAY its value                          | D2      |
    | failed      |                                 | REPLAY its failure                        | D4, F4  |
    | retrying    | now < until                     | WAIT until then                           | S2      |
    | retrying    | now >= until                    | RUN the next attempt                      | S1      |
    | unfinished  | marks and charged >= attempts   | FAIL: exhausted by crashes                | S4, S5  |
    | unfinished  | else                            | RUN the next attempt                      | S4      |

A sleep:

    | nothing     | now < until                     | WAIT (the deadline is recorded)           | Q4      |
    | nothing     | now >= until                    | RUN: record it as passed                  | Q4      |
    | waiting     | now < until, nothing after it   | WAIT                                      | Q4      |
    | waiting     | now >= until, or passed before  | REPLAY                                    | Q4      |
    | completed   |                                 | REPLAY                                    | D2      |

An entry of another kind at the path, a new operation before a recorded one, and a recorded one that the code does not
reach are divergences of the history for every operation (D6): `Branch.visit`, and the end of an iteration and of the code.

"Passed before": something was recorded after the sleep, so it was over once; a clock that runs behind can't
bring it back.

What has to be recorded before a later body may run, and what may pass unrecorded and be written with the next
checkpoint: RECORDED_FIRST. The forward replay and the one that collects rollbacks both go by it: whatever may pass
unrecorded is passed in a rollback too, and what has to be recorded first and is not ends the history there, for nothing
after it can have started (R18).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto

from durable.engine.entries import SleepEntry, StepEntry
from durable.engine.recorded import EntryKind, EntryStatus

RECORDED_FIRST: Mapping[EntryKind, bool] = {
    EntryKind.STEP: True,  # its start or its outcome: a body runs only after the outcome of the one before it
    EntryKind.QUEUE: True,  # messages, or the timeout: another replay could find the other
    EntryKind.VERSION: True,  # a crash must not leave it in doubt which way was taken
    EntryKind.CHECKPOINT: True,  # a crash must not leave it in doubt what is rolled back
    EntryKind.SLEEP: False,  # over is over: its end is fixed by the call, or was recorded when it began
    EntryKind.REPLY: False,  # the code that follows does not see whether the sender has the response
    EntryKind.LOOP: False,  # follows from what its iterations recorded
    EntryKind.WAIT_FOR: False,  # the same; a deadline that was not recorded begins again
}


class Decision(Enum):
    """What to do with an operation."""

    REPLAY = auto()
    RUN = auto()
    WAIT = auto()
    FAIL = auto()


def for_step(entry: StepEntry | None, now: int, attempts: int) -> Decision:
    """Return the decision of the first table; `attempts` is how often the body may run."""
    if entry is None:
        return Decision.RUN
    match entry.status:
        case EntryStatus.COMPLETED | EntryStatus.FAILED:
            return Decision.REPLAY
        case EntryStatus.UNFINISHED if entry.marks and entry.charged >= attempts:
            return Decision.FAIL
        case _:
            return Decision.WAIT if now < entry.until else Decision.RUN


def for_sleep(entry: SleepEntry | None, now: int, until: int, *, passed: bool) -> Decision:
    """Return the decision of the second table; `passed`: something was recorded after the sleep."""
    if entry is None:
        return Decision.WAIT if now < until else Decision.RUN
    if entry.status is EntryStatus.COMPLETED or passed or now >= entry.until:
        return Decision.REPLAY
    return Decision.WAIT

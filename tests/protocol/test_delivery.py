"""The table of deliveries, row by row (protocol rule 3)."""

from __future__ import annotations

import pytest
from msgspec import UNSET
from msgspec.structs import replace
from msgspec.structs import replace as changed

from durable.protocol.delivery import Action, Ruling, rule
from durable.protocol.head import AT_REST, ENDING, FORWARD, TERMINAL, Head, Status
from durable.usercode.durations import FOREVER
from tests.protocol.heads import EARLIER, LATER, NOW, delivery, head

ENDED = "the execution has ended"
MOVED_ON = "the execution has moved on"
HELD = "another invocation holds the execution"
MAY_HAVE_DIED = "the invocation that moved it on may have died before it sent"
MESSAGES = [(4, "mine"), (4, "another"), (5, "mine"), (5, "another"), (6, "mine"), (6, "another")]

pytestmark = pytest.mark.rule("E3", "E6")


@pytest.mark.parametrize("message", MESSAGES)
def test_absent(message: tuple[int, str]) -> None:
    assert rule(None, delivery(*message), NOW) == Ruling(Action.DELETE, ENDED)


@pytest.mark.parametrize("message", MESSAGES)
@pytest.mark.parametrize("status", sorted(TERMINAL))
@pytest.mark.parametrize("lease", [0, LATER])
def test_terminal(status: Status, message: tuple[int, str], lease: int) -> None:
    assert rule(head(status=status, lease=lease), delivery(*message), NOW) == Ruling(Action.DELETE, ENDED)


@pytest.mark.parametrize("standing", [head(), head(lease=LATER), head(status=Status.PAUSED), head(wake=LATER)])
@pytest.mark.parametrize("message_id", ["mine", "another"])
def test_newer_than_the_head(standing: Head, message_id: str) -> None:
    ruling = rule(standing, delivery(6, message_id), NOW)
    assert ruling == Ruling(Action.DELETE, "the message is of an earlier execution of this id")


@pytest.mark.parametrize("standing", [head(), head(lease=LATER), head(status=Status.PAUSED), head(wake=LATER)])
def test_older_and_not_mine(standing: Head) -> None:
    assert rule(standing, delivery(4, "another"), NOW) == Ruling(Action.DELETE, MOVED_ON)


@pytest.mark.parametrize("status", sorted(set(Status) - TERMINAL))
def test_lease_held_and_older_mine(status: Status) -> None:
    standing = head(status=status, lease=LATER)
    assert rule(standing, delivery(4, "mine"), NOW) == Ruling(Action.HOLD, HELD, LATER)


@pytest.mark.parametrize("status", sorted(AT_REST))
def test_at_rest_and_older_mine(status: Status) -> None:
    assert rule(head(status=status), delivery(4, "mine"), NOW) == Ruling(Action.DELETE, f"the execution is {status}")


@pytest.mark.parametrize("late", [{}, {"claims": 1}, {"claims": 2}])
@pytest.mark.parametrize("standing", [head(), head(lease=NOW), head(wake=LATER), head(wake=FOREVER)])
def test_older_mine(standing: Head, late: dict[str, int]) -> None:
    """Its invocation has died; or, where it has not given the execution back, it may be late and still work."""
    ruling = rule(changed(standing, **late), delivery(4, "mine"), NOW)
    assert ruling == Ruling(Action.RESEND, MAY_HAVE_DIED, fence=bool(late))


@pytest.mark.parametrize("late", [{"claims": 1}, {"undoing": 1}])
@pytest.mark.parametrize("status", sorted(ENDING))
def test_older_mine_in_a_rollback(status: Status, late: dict[str, int]) -> None:
    """A body of before the command may be late, and a rollback."""
    ruling = rule(head(status=status, **late), delivery(4, "mine"), NOW)
    assert ruling == Ruling(Action.RESEND, MAY_HAVE_DIED, fence=True)


@pytest.mark.parametrize("message", [(4, "mine"), (5, "mine"), (5, "another")])
@pytest.mark.parametrize("status", sorted(AT_REST))
@pytest.mark.parametrize("late", [{"claims": 1}, {"undoing": 1}])
def test_at_rest_and_not_given_back(status: Status, message: tuple[int, str], late: dict[str, int]) -> None:
    ruling = rule(head(status=status, **late), delivery(*message), NOW)
    assert ruling == Ruling(Action.DELETE, f"the execution is {status}", fence=True)


@pytest.mark.parametrize("birth", [EARLIER - 1, EARLIER + 1])
@pytest.mark.parametrize("message", MESSAGES)
@pytest.mark.parametrize("standing", [head(), head(lease=LATER), head(status=Status.PAUSED), head(wake=LATER)])
def test_of_another_life_of_the_id(standing: Head, message: tuple[int, str], birth: int) -> None:
    of = delivery(*message)
    ruling = rule(standing, replace(of, continuation=changed(of.continuation, birth=birth)), NOW)
    assert ruling == Ruling(Action.DELETE, "the message is of an earlier execution of this id")


def test_without_a_birth_a_message_is_for_whichever_execution_has_the_id() -> None:
    of = delivery(5, "another")
    ruling = rule(head(), replace(of, continuation=changed(of.continuation, birth=UNSET)), NOW)
    assert ruling == Ruling(Action.CLAIM, "")


@pytest.mark.parametrize("message_id", ["mine", "another"])
@pytest.mark.parametrize("status", sorted(set(Status) - TERMINAL))
def test_lease_held_and_current(status: Status, message_id: str) -> None:
    standing = head(status=status, lease=LATER, wake=LATER + 1)
    assert rule(standing, delivery(5, message_id), NOW) == Ruling(Action.HOLD, HELD, LATER)


@pytest.mark.parametrize("message_id", ["mine", "another"])
@pytest.mark.parametrize("status", sorted(AT_REST))
def test_at_rest_and_current(status: Status, message_id: str) -> None:
    standing = head(status=status, wake=LATER)
    assert rule(standing, delivery(5, message_id), NOW) == Ruling(Action.DELETE, f"the execution is {status}")


@pytest.mark.parametrize("message_id", ["mine", "another"])
@pytest.mark.parametrize("wake", [FOREVER, FOREVER + 1])
def test_parked_without_a_wake_time_and_nothing_new(wake: int, message_id: str) -> None:
    standing = head(status=Status.WAITING, wake=wake, inbox=2, seen=2)
    assert rule(standing, delivery(5, message_id), NOW) == Ruling(Action.DELETE, "the execution waits for a message")


@pytest.mark.parametrize("status", [Status.WAITING, Status.ROLLING_BACK])
@pytest.mark.parametrize("message_id", ["mine", "another"])
def test_parked_and_not_due(status: Status, message_id: str) -> None:
    standing = head(status=status, wake=LATER)
    assert rule(standing, delivery(5, message_id), NOW) == Ruling(Action.HOLD, "the execution sleeps", LATER)


@pytest.mark.parametrize("message_id", ["mine", "another"])
@pytest.mark.parametrize(
    "standing",
    [
        *(head(status=status) for status in sorted(FORWARD)),
        head(status=Status.FAILING),
        head(status=Status.CANCELLING),
        head(status=Status.ROLLING_BACK),
        head(status=Status.WAITING, wake=NOW),
        head(status=Status.WAITING, wake=LATER, inbox=3, seen=2),
        head(status=Status.WAITING, wake=FOREVER, inbox=3, seen=2),
        head(lease=NOW),
        head(lease=EARLIER),
    ],
)
def test_claim(standing: Head, message_id: str) -> None:
    assert rule(standing, delivery(5, message_id), NOW) == Ruling(Action.CLAIM, "")


def test_what_a_message_says_beside_its_revision_decides_nothing() -> None:
    honest = delivery(5, "another")
    lying = replace(honest, continuation=changed(honest.continuation, workflow="other", version=9, phase="rollback"))
    assert rule(head(), lying, NOW) == rule(head(), honest, NOW)

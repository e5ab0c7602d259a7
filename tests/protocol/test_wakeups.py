"""What brings an execution back, by its head (E5). The queue is SQS in moto, as a harness has it."""

from __future__ import annotations

import pytest

from durable.protocol.head import AT_REST, TERMINAL, Head, Status
from durable.runtime.followups import LostExecution, send_again, send_for
from durable.testing import Harness
from durable.usercode.durations import FOREVER
from tests.protocol.heads import head

pytestmark = pytest.mark.rule("E5")


@pytest.fixture
def durable_workflows() -> list[object]:
    return []


def sent(durable: Harness) -> list[tuple[str, int]]:
    """What waits in the queue: the phase of each continuation, and the seconds until it is visible."""
    now = durable.clock.now()
    return [
        (message.body.split('"phase":"')[1].rstrip('"}'), (message.visible - now) // 1000)
        for message in durable.messages()
    ]


@pytest.mark.parametrize("status", sorted(set(Status) - TERMINAL - AT_REST))
def test_an_invocation_that_would_end_with_its_lease_is_a_fault_of_ours(durable: Harness, status: Status) -> None:
    leased = head(status=status, lease=durable.clock.now() + 1)
    with pytest.raises(LostExecution, match=f"execution 'order-1' is {status} and still leased"):
        send_for(durable.application.queue, leased, durable.clock.now())


def waiting(wake: int) -> Head:
    return head(status=Status.WAITING, wake=wake)


def test_each_status_has_its_wake_up(durable: Harness) -> None:
    now = durable.clock.now()
    queue = durable.application.queue
    wanted = {
        Status.PENDING: [("forward", 0)],
        Status.RUNNING: [("forward", 0)],
        Status.CANCELLING: [("rollback", 0)],
        Status.ROLLING_BACK: [("rollback", 0)],
        Status.FAILING: [],  # the stream's
        Status.PAUSED: [],
        Status.DIVERGED: [],
        **{status: [] for status in TERMINAL},
    }
    for status, messages in wanted.items():
        before = len(sent(durable))
        send_for(queue, head(status=status), now)
        assert sent(durable)[before:] == messages, status


@pytest.mark.parametrize(
    ("wake", "messages"), [(600_000, [("forward", 600)]), (0, [("forward", 0)]), (-1, [("forward", 0)]), (None, [])]
)
def test_a_wait_has_its_timer(durable: Harness, wake: int | None, messages: list[tuple[str, int]]) -> None:
    now = durable.clock.now()
    send_for(durable.application.queue, waiting(FOREVER if wake is None else now + wake), now)
    assert sent(durable) == messages


@pytest.mark.parametrize(
    ("standing", "messages"),
    [
        ({"status": Status.RUNNING}, [("forward", 0)]),
        ({"status": Status.FAILING}, [("rollback", 0)]),
        ({"status": Status.WAITING, "wake": 600}, [("forward", 600)]),
        ({"status": Status.WAITING, "wake": -600}, [("forward", 0)]),
        ({"status": Status.WAITING, "wake": None}, []),
        ({"status": Status.WAITING, "wake": None, "inbox": 1}, [("forward", 0)]),
    ],
)
def test_a_resumed_execution_has_its_wake_up(
    durable: Harness, standing: dict[str, object], messages: list[tuple[str, int]]
) -> None:
    now = durable.clock.now()
    if "wake" in standing:
        wake = standing["wake"]
        standing = standing | {"wake": now + 1000 * wake if isinstance(wake, int) else FOREVER}
    send_again(durable.application.queue, head(**standing), now)
    assert sent(durable) == messages

"""EventBridge Scheduler's schedules, learnt from the calls that make and delete them."""

from __future__ import annotations

from urllib.parse import parse_qs, unquote, urlsplit

from durable.testing.aws.wire import Answer, Request
from durable.testing.sources.timers import Name, Timers


def take_note(timers: Timers, request: Request, answer: Answer) -> None:
    """Keep the timers as the scheduler has them after a call."""
    if request.service != "scheduler" or answer.error is not None:
        return
    match request.operation:
        case "CreateSchedule":
            timers.add(schedule_of(request), request.parameters)
        case "DeleteSchedule":
            timers.remove(schedule_of(request))


def schedule_of(request: Request) -> Name:
    """The schedule that a call is about: the scheduler has names in the path, and groups in the body or the query."""
    url = urlsplit(request.url)
    group = request.parameters.get("GroupName") or parse_qs(url.query).get("groupName", ["default"])[0]
    return str(group), unquote(url.path.rpartition("/")[2])

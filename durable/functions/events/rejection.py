"""Reject messages that no code can handle: they are counted, and sent to the rejected queue."""

from __future__ import annotations

from durable.functions.events.batch import Reject
from durable.runtime.application import Application
from durable.runtime.events import Incident, IncidentKind


def rejecting(application: Application) -> Reject:
    """Return a function that rejects a message by its body, with the reason."""

    def reject(body: str, reason: str) -> None:
        application.queue.reject(body, reason)
        application.observer.observe(Incident(IncidentKind.REJECTED))

    return reject

"""Messages that no code here can handle: counted, and put where a person finds them."""

from __future__ import annotations

from durable.functions.events.batch import Reject
from durable.runtime.application import Application


def rejecting(application: Application) -> Reject:
    """Rejects a message: its body, and the reason."""

    def reject(body: str, reason: str) -> None:
        application.queue.reject(body, reason)
        application.observer.noticed("rejected", "", "")

    return reject

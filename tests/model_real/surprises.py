"""Errors that the runtime did not expect: it logs them, holds the message and goes on, so they are looked for in the log."""

from __future__ import annotations

import logging

surprises: list[str] = []  # errors that the runtime did not expect, and held the message for


class Surprises(logging.Handler):
    """Takes note of them: the runtime logs them, and goes on."""

    def emit(self, record: logging.LogRecord) -> None:
        """Take note of an error with its type."""
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and record.getMessage().startswith("held after an unexpected error"):
            surprises.append(f"{type(error).__name__}: {error}")


logging.getLogger("durable.runtime").addHandler(Surprises())

"""Structured logs, one JSON object a line: Powertools' Logger is the logger `durable` of the standard library.

Every logger of this library is below it (`durable.workflow` for ctx.log), so their lines pass its formatter once, with
the invocation's keys; their own keys come as `extra` and are gone with the line. User code logs as it likes.
"""

from __future__ import annotations

import logging
import sys
from functools import cache
from typing import TYPE_CHECKING, Any, TextIO

from aws_lambda_powertools import Logger

NAME = "durable"  # as a Powertools logger's name, it keeps the lines of all that is below out of Lambda's own handler

if TYPE_CHECKING:
    Handler = logging.StreamHandler[TextIO]
else:
    Handler = logging.StreamHandler


class StandardOutput(Handler):
    """Writes to what standard output is at the moment, not to what it was when the process began."""

    def __init__(self) -> None:
        super().__init__(sys.stdout)

    @property
    def stream(self) -> Any:
        """Standard output."""
        return sys.stdout

    @stream.setter
    def stream(self, stream: object) -> None:
        pass


def service_logger(service: str) -> Logger:
    """The logger of this process; its lines say that they are of this service."""
    logger = process_logger()
    logger.append_keys(service=service)
    return logger


@cache
def process_logger() -> Logger:
    """The logger of this process: a warm one has it already."""
    return Logger(service=NAME, logger_handler=StandardOutput(), utc=True, use_rfc3339=True)

"""Structured logs, one JSON object a line: Powertools' Logger is the logger `durable` of the standard library.

Every logger of this library is its child (`durable.workflow` for ctx.log), so each line is formatted once, with the keys of
the invocation. Keys of one line are passed as `extra` and never leak into the next. User code may log in any way.
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
    """A stream that writes to the current standard output, not to the one of the start of the process."""

    def __init__(self) -> None:
        super().__init__(sys.stdout)

    @property
    def stream(self) -> Any:
        """Return standard output."""
        return sys.stdout

    @stream.setter
    def stream(self, stream: object) -> None:
        pass

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, without what can't be encoded."""
        return super().format(record).encode(errors="replace").decode()


def service_logger(service: str) -> Logger:
    """Return the logger of this process, whose lines carry the name of the service."""
    logger = process_logger()
    logger.append_keys(service=service)
    return logger


@cache
def process_logger() -> Logger:
    """Return the logger of this process; a warm process has it already."""
    return Logger(service=NAME, logger_handler=StandardOutput(), utc=True, use_rfc3339=True)

"""Logs appear once, not once per replay, and say where they come from."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

logger = logging.getLogger("durable.workflow")

if TYPE_CHECKING:
    Adapter = logging.LoggerAdapter[logging.Logger]
else:
    Adapter = logging.LoggerAdapter


RESERVED = frozenset({*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"})
"""What the standard library keeps in a line itself: it refuses an `extra` of such a name."""


class ExecutionLog(Adapter):
    """A logger whose lines carry workflow, execution and, in a body, step and attempt; silent during replay."""

    def __init__(self, fields: Mapping[str, object], live: Callable[[], bool] | None = None) -> None:
        super().__init__(logger, dict(fields))
        self._live = live

    def isEnabledFor(self, level: int) -> bool:
        """Whether a line of this level is written now."""
        return (self._live is None or self._live()) and super().isEnabledFor(level)

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        """Join the caller's `extra` with ours; ours win, so that a line can always be traced.

        A field whose name is taken, such as `name` or `args`, is written as `name_`: a line of a log never fails a workflow.
        """
        given = {
            f"{name}_" if name in RESERVED else name: value for name, value in dict(kwargs.get("extra") or {}).items()
        }
        kwargs["extra"] = {**given, **(self.extra or {})}
        return msg, kwargs

"""Logs appear once, not once per replay, and say where they come from (D12)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

logger = logging.getLogger("durable.workflow")

if TYPE_CHECKING:
    Adapter = logging.LoggerAdapter[logging.Logger]
else:
    Adapter = logging.LoggerAdapter


class ExecutionLog(Adapter):
    """A logger whose lines carry workflow, execution and, in a body, step and attempt; silent during replay."""

    def __init__(self, fields: Mapping[str, object], live: Callable[[], bool] | None = None) -> None:
        super().__init__(logger, dict(fields))
        self._live = live

    def isEnabledFor(self, level: int) -> bool:
        """Whether a line of this level is written now."""
        return (self._live is None or self._live()) and super().isEnabledFor(level)

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        """Join the caller's `extra` with ours; ours win, so that a line can always be traced."""
        kwargs["extra"] = {**(kwargs.get("extra") or {}), **(self.extra or {})}
        return msg, kwargs

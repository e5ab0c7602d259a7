"""How much of an invocation is left."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


class Deadline:
    """When Lambda stops the process, as seen from the start of the invocation."""

    def __init__(self, context: LambdaContext) -> None:
        self._context = context
        self._whole = self.left()

    def left(self) -> float:
        """Seconds until then."""
        return self._context.get_remaining_time_in_millis() / 1000

    def is_near(self) -> bool:
        """Whether more than half of the invocation is over: too late to start on another message of its batch."""
        return self.left() < self._whole / 2

"""The time left of an invocation."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


class Deadline:
    """The moment at which Lambda stops the process."""

    def __init__(self, context: LambdaContext) -> None:
        self._context = context
        self._whole = self.left()

    def left(self) -> float:
        """Return the seconds until then."""
        return self._context.get_remaining_time_in_millis() / 1000

    def is_near(self) -> bool:
        """Return whether more than half of the invocation is over: too late to begin with another message of the batch."""
        return self.left() < self._whole / 2

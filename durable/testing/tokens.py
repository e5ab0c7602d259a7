"""Tokens of transactions: DynamoDB takes each once, so that an attempt which botocore repeats is not refused by itself."""

from __future__ import annotations

from dataclasses import dataclass, field

from durable.testing.wire import Answer, Answered, Request

TRANSACTION = "TransactWriteItems"


@dataclass(slots=True)
class Tokens:
    """The transactions that were applied; moto would apply them again."""

    _applied: set[str] = field(default_factory=set)

    def before(self, request: Request) -> None:
        """Answers a repeated transaction as its first attempt was answered."""
        if request.operation == TRANSACTION and request.parameters.get("ClientRequestToken") in self._applied:
            raise Answered(200, {})

    def after(self, request: Request, answer: Answer) -> None:
        """Takes note of a transaction that was applied."""
        if request.operation == TRANSACTION and answer.error is None:
            self._applied.add(str(request.parameters.get("ClientRequestToken")))

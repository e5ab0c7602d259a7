"""What the tests see and say on botocore's wire."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any


@contextmanager
def calls_of(client: Any) -> Iterator[list[tuple[str, dict[str, Any]]]]:
    """Every call of the client: its operation and its parameters."""
    calls: list[tuple[str, dict[str, Any]]] = []

    def note(params: dict[str, Any], model: Any, **_: Any) -> None:
        calls.append((model.name, dict(params)))

    client.meta.events.register_first("provide-client-params.*.*", note)
    try:
        yield calls
    finally:
        client.meta.events.unregister("provide-client-params.*.*", note)


@contextmanager
def answered(client: Any, operation: str, *answers: Mapping[str, Any] | Exception | None) -> Iterator[None]:
    """The next calls of an operation get these answers; None lets one through, and so do all that follow."""
    rest = list(answers)
    event = f"before-call.{client.meta.service_model.endpoint_prefix}.{operation}"

    def answer(**_: Any) -> Any:
        next_answer = rest.pop(0) if rest else None
        if isinstance(next_answer, Exception):
            raise next_answer
        if next_answer is None:
            return None
        return SimpleNamespace(status_code=400 if "Error" in next_answer else 200, headers={}), next_answer

    client.meta.events.register(event, answer)
    try:
        yield
    finally:
        client.meta.events.unregister(event, answer)


def failure(code: str, message: str = "", **more: Any) -> dict[str, Any]:
    """An error's answer."""
    return {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {}, **more}

"""Turn botocore's errors into StoreError, which says what could not be done and what to do about it."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from durable.errors import StoreError

T = TypeVar("T")

# Throttling, server errors and the network are retried by botocore, with jitter and a budget that ends retry storms.
# A call answers within milliseconds; a connection that died while Lambda had the process frozen is found soon.
PATIENCE = Config(
    retries={"mode": "standard", "total_max_attempts": 4},
    connect_timeout=2,
    read_timeout=5,
    tcp_keepalive=True,
)
CONFLICT_ATTEMPTS = 6
CONFLICT_DELAY = 0.025  # seconds; doubles with each attempt

_HINTS = {
    "ResourceNotFoundException": "Is its name right, and its region?",
    "NonExistentQueue": "Is the queue's URL right, and its region?",
    "AccessDeniedException": "Does the role of this function allow it?",
    "UnrecognizedClientException": "Are the credentials those of the table's account?",
}


class ItemTooLarge(StoreError):
    """An item over DynamoDB's 400 KB: trying again will not help, a smaller value will."""


@contextmanager
def boundary(doing: str) -> Iterator[None]:
    """Raise what botocore raises in this block as StoreError: 'could not <doing>: …'."""
    try:
        yield
    except ClientError as error:
        raise _told(doing, error) from error
    except BotoCoreError as error:
        raise StoreError(f"could not {doing}: {error}") from error


def past_conflicts(send: Callable[[], T], sleep: Callable[[float], None] = time.sleep) -> T:
    """Return the answer of a call, repeated while another transaction holds the same item: botocore never retries that."""
    for attempt in range(1, CONFLICT_ATTEMPTS):
        try:
            return send()
        except ClientError as error:
            if not is_conflict(error):
                raise
            sleep(random.uniform(0, CONFLICT_DELAY * 2**attempt))
    return send()


def is_conflict(error: ClientError) -> bool:
    """Return whether a write failed only because another one was under way."""
    if code(error) == "TransactionCanceledException":
        return bool(reasons(error) & {"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}) and (
            "ConditionalCheckFailed" not in reasons(error)
        )
    return code(error) == "TransactionConflictException"


def code(error: ClientError) -> str:
    """Return the error's code, without the prefix that SQS still puts before it."""
    return str(error.response.get("Error", {}).get("Code", "")).rpartition(".")[2]


def refusal(error: ClientError) -> Mapping[str, Any] | None:
    """Return the item whose condition did not hold, empty if there is none; None for any other error."""
    response: Mapping[str, Any] = error.response
    if code(error) == "ConditionalCheckFailedException":
        return dict(response.get("Item", {}))
    for reason in response.get("CancellationReasons", []):
        if reason.get("Code") == "ConditionalCheckFailed":
            return dict(reason.get("Item", {}))
    return None


def reasons(error: ClientError) -> frozenset[str]:
    """Return the reasons why a transaction was cancelled."""
    return frozenset(reason.get("Code", "None") for reason in error.response.get("CancellationReasons", []))


def _told(doing: str, error: ClientError) -> StoreError:
    name, message = code(error), error.response.get("Error", {}).get("Message", "")
    if name == "ValidationException" and "size" in message.lower():
        return ItemTooLarge(
            f"could not {doing}: it is larger than the 400 KB that DynamoDB takes in one item ({message})"
        )
    hint = _HINTS.get(name)
    return StoreError(f"could not {doing}: {name}: {message}" + (f" {hint}" if hint else ""))

"""The template's event buses: what is put on one goes, by its rules, into queues."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from durable.errors import ConfigurationError
from durable.runtime.ports import Clock, Nonces
from durable.testing.aws.patterns import matches
from durable.testing.template.stack import ACCOUNT, REGION, Queue, Stack


@dataclass(frozen=True, slots=True)
class Bus:
    """All buses of a stack."""

    stack: Stack
    clock: Clock
    ids: Nonces
    put_message: Callable[[Queue, str], None]

    def put(self, bus: str, source: str, detail_type: str, detail: str) -> str:
        """Put an event on a bus; returns its id."""
        event = {
            "version": "0",
            "id": self.ids(),
            "detail-type": detail_type,
            "source": source,
            "account": ACCOUNT,
            "time": f"{datetime.fromtimestamp(self.clock.now() / 1000, UTC):%Y-%m-%dT%H:%M:%SZ}",
            "region": REGION,
            "resources": [],
            "detail": json.loads(detail),
        }
        for rule in self.stack.rules:
            if rule.bus == bus and matches(rule.pattern, event):
                for target in rule.targets:
                    self.put_message(self._queue(target["Arn"]), _input(target, event))
        return str(event["id"])

    def _queue(self, arn: str) -> Queue:
        queue = self.stack.queue_of(arn)
        if queue is None:
            raise ConfigurationError(f"a rule's target is {arn}, which is no queue of the template.")
        return queue


def _input(target: Mapping[str, Any], event: Mapping[str, Any]) -> str:
    """What a target gets of an event."""
    if path := target.get("InputPath"):
        return json.dumps(_part(event, path))
    if transformer := target.get("InputTransformer"):
        parts = {name: _part(event, path) for name, path in transformer.get("InputPathsMap", {}).items()}
        return re.sub(r'("?)<([\w-]+)>\1', lambda found: _filled(found, parts), transformer["InputTemplate"])
    return json.dumps(event)


def _filled(found: re.Match[str], parts: Mapping[str, Any]) -> str:
    """A text within quotes stays within them."""
    return json.dumps(parts.get(found[2]))


def _part(event: Any, path: str) -> Any:
    for name in path.removeprefix("$").strip(".").split("."):
        event = event.get(name) if name and isinstance(event, Mapping) else event
    return event

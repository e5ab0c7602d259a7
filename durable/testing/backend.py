"""What stands behind a harness: an emulated AWS, or the local store. A backend makes the services of one deployment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from durable.runtime.ports import Adapters
from durable.testing.calls import Traffic
from durable.testing.clock import VirtualClock
from durable.testing.faults import Faults
from durable.testing.invocations import Invocations
from durable.testing.lifetime import Lifetime
from durable.testing.sources.messages import Mailbox, Polling
from durable.testing.sources.pump import Due, Timetable
from durable.testing.sources.stream import Feed
from durable.testing.stored import Stored, Tables
from durable.testing.template.definitions import StreamSource
from durable.testing.template.stack import Stack
from durable.testing.template.template import Template

if TYPE_CHECKING:
    from durable.testing.aws.permissions import Permissions


@dataclass(frozen=True, slots=True)
class World:
    """What a deployment brings: what is deployed, when it is, who calls, and what happens to the calls."""

    template: Template
    lifetime: Lifetime
    clock: VirtualClock
    invocations: Invocations
    faults: Faults


@dataclass(frozen=True, slots=True)
class Services:
    """What a deployment needs of its backend."""

    stack: Stack
    traffic: Traffic
    mail: Mailbox
    polling: Polling
    timers: Timetable
    due: Due
    feed: Callable[[StreamSource], Feed]
    stored: Stored
    tables: Tables
    put_event: Callable[[str, str, str, str], str]  # on a bus: its source, detail type and detail; returns its id
    permissions: Permissions | None = None  # None: nobody's are checked
    adapters: Callable[[Mapping[str, str]], Adapters] | None = None
    """Of a function's environment: what its ports are bound to. None: functions bind them to AWS themselves."""


Backend = Callable[[World], AbstractContextManager[Services]]
"""Makes the services, which are there while it is entered, and in which nothing is yet."""

"""What workflows are tested with: a deployment in memory.

from durable.testing import Harness
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from durable.testing.calls import Call
    from durable.testing.harness import Harness as Harness
    from durable.testing.invocations import ProcessDied as ProcessDied

_HOMES = {
    "Call": "durable.testing.calls",
    "Harness": "durable.testing.harness",
    "ProcessDied": "durable.testing.invocations",
}

__all__ = ["Call", "Harness", "ProcessDied"]


def __getattr__(name: str) -> Any:
    """Loads a name when it is asked for: pytest loads this package for its plugin, in every run."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)

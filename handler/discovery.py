"""The workflows of this deployment: every one in every module of handler/workflows/."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType
from typing import Any

from durable import Workflow


def discovered(package: ModuleType) -> list[Workflow[Any, Any, Any]]:
    """Every workflow in the package's modules, also in those of its packages, in the order of their names."""
    return [value for module in _modules(package) for value in vars(module).values() if isinstance(value, Workflow)]


def _modules(package: ModuleType) -> Iterator[ModuleType]:
    yield package
    for found in walk_packages(package.__path__, f"{package.__name__}."):
        yield import_module(found.name)

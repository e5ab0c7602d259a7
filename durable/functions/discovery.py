"""Find the workflows of a deployment: every one in the modules and packages that DURABLE_WORKFLOWS names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType

from durable import ConfigurationError, Workflow
from durable.api.workflow import AnyWorkflow

VARIABLE = "DURABLE_WORKFLOWS"


def discovered(names: Sequence[str]) -> list[AnyWorkflow]:
    """Return every workflow in these modules, and in all modules of those that are packages, each once.

    Raises ConfigurationError when there is no such module, or no workflow in any; what a module raises while it is
    imported passes unchanged.
    """
    found: dict[int, AnyWorkflow] = {}
    for name in names:
        for module in _modules(_imported(name)):
            found |= {id(value): value for value in vars(module).values() if isinstance(value, Workflow)}
    if not found:
        where = ", ".join(names) or "nothing"
        raise ConfigurationError(
            f"{VARIABLE} names {where}, and there is no @workflow in it. Set it to the modules or packages that define "
            "your workflows, separated by commas."
        )
    return list(found.values())


def _imported(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        raise ConfigurationError(
            f"{VARIABLE} names the module '{name}', and there is no module '{error.name}' here. Correct the name, or "
            "deploy the module beside the functions."
        ) from error


def _modules(module: ModuleType) -> Iterator[ModuleType]:
    yield module
    for found in walk_packages(getattr(module, "__path__", ()), f"{module.__name__}."):
        yield import_module(found.name)

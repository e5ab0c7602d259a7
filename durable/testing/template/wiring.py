"""Find the module that builds the application of a template's functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from durable.errors import ConfigurationError
from durable.testing.functions import load_handler, load_module
from durable.testing.template.template import FUNCTION, Resource, Template

PACKAGED = "durable.functions"  # the handlers that come with the library


@dataclass(frozen=True, slots=True)
class Search:
    """The wiring that was found, if any, and why each function that was looked at has none."""

    template: Template
    wiring: Any
    reasons: tuple[str, ...] = ()

    def error(self) -> str:
        """Say what was looked for, and where."""
        seen = "; ".join(self.reasons) or "it has no function"
        return (
            f"no function of {self.template.path} is one of durable's, so this harness can start nothing. It looked for a "
            f"handler of {PACKAGED}, or a module `wiring` beside the handler, in every function: {seen}. "
            f"Let a function's Handler be {PACKAGED}.worker.handler, or a module that imports it."
        )


class NoWiring(ConfigurationError, AttributeError):
    """A harness over a template that has no function of the library was asked to start something."""

    def __init__(self, found: Search) -> None:
        super().__init__(found.error())


def find_wiring(template: Template) -> Search:
    """Look at every function of the template: it may have others beside the library's, in whatever order."""
    reasons: list[str] = []
    for resource in template.resources(FUNCTION):
        try:
            return Search(template, _wiring_of(resource, template))
        except Exception as error:  # a function of somebody else's may fail in its own way while it is imported
            reasons.append(f"{resource.id} ({resource.properties.get('Handler', 'no Handler')}): {_described(error)}")
    return Search(template, None, tuple(reasons))


def _wiring_of(resource: Resource, template: Template) -> Any:
    """Return the module `wiring` beside the handler, or the library's own; raises ConfigurationError."""
    name, root = resource.properties.get("Handler"), template.path.parent
    if not isinstance(name, str):
        raise ConfigurationError("its handler is not named in the template")
    package = name.rpartition(".")[0].rpartition(".")[0]
    if package and callable(getattr(wiring := _module(f"{package}.wiring", template), "build", None)):
        return wiring
    home = str(getattr(load_handler(name, root), "__module__", ""))
    if not f"{home}.".startswith(f"{PACKAGED}."):
        raise ConfigurationError(f"its handler is of {home}")
    return load_module(f"{PACKAGED}.wiring", root)


def _module(name: str, template: Template) -> Any:
    try:
        return load_module(name, template.path.parent)
    except ConfigurationError:  # there is none
        return None


def _described(error: Exception) -> str:
    return str(error) if isinstance(error, ConfigurationError) else f"{type(error).__name__}: {error}"

"""A SAM template as data: its resources with parameters, conditions and globals applied."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import yaml

from durable.errors import ConfigurationError
from durable.testing.template.intrinsics import Intrinsics

FUNCTION = "AWS::Serverless::Function"

_GLOBALS = {FUNCTION: "Function", "AWS::Serverless::HttpApi": "HttpApi", "AWS::Serverless::Api": "Api"}


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource of a template; its properties still hold intrinsics."""

    id: str
    type: str
    properties: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Template:
    """A template and the values of its parameters."""

    path: Path
    document: Mapping[str, Any]
    parameters: Mapping[str, Any]

    @classmethod
    def load(cls, path: Path | str | None = None, parameters: Mapping[str, Any] | None = None) -> Template:
        """The template at the path (default: the nearest `template.yaml`), its parameters' defaults overridden."""
        file = nearest() if path is None else Path(path).resolve()
        document = _parse(file, file.stat().st_mtime_ns)
        return cls(file, document, _parameters(document.get("Parameters", {}), parameters or {}))

    def intrinsics(self, names: Mapping[str, Any]) -> Intrinsics:
        """What resolves this template's values, its resources' names being these."""
        known: ChainMap[str, Any] = ChainMap(dict(self.parameters), cast("dict[str, Any]", names))
        return Intrinsics(known, self.document.get("Mappings", {}), self.document.get("Conditions", {}))

    def resources(self, kind: str | None = None) -> Iterator[Resource]:
        """The resources (of one type) whose condition holds, with the template's Globals merged in."""
        holds = self.intrinsics({}).holds
        for identifier, resource in self.document["Resources"].items():
            if kind not in (None, resource["Type"]):
                continue
            if "Condition" in resource and not holds(resource["Condition"]):
                continue
            shared = self.document.get("Globals", {}).get(_GLOBALS.get(resource["Type"], ""), {})
            yield Resource(identifier, resource["Type"], _merge(shared, resource.get("Properties", {})))


def nearest(start: Path | None = None) -> Path:
    """The `template.yaml` of this folder or of the nearest one above it that has one."""
    folder = (start or Path.cwd()).resolve()
    for candidate in (folder, *folder.parents):
        if (file := candidate / "template.yaml").is_file():
            return file
    raise ConfigurationError(
        f"no template.yaml in {folder} nor in any folder above it. "
        "The tables, queues and functions of a test come from it: run from the project, or give template=<path>."
    )


def _parameters(declared: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    if unknown := sorted(set(given) - set(declared)):
        known = ", ".join(sorted(declared)) or "none"
        raise ConfigurationError(f"the template has no parameter {', '.join(unknown)}; it has: {known}.")
    values = {name: given.get(name, declaration.get("Default")) for name, declaration in declared.items()}
    if missing := sorted(name for name, value in values.items() if value is None):
        raise ConfigurationError(f"the template's parameter {', '.join(missing)} has no default: give it a value.")
    for name, value in values.items():
        allowed = declared[name].get("AllowedValues")
        if allowed is not None and str(value) not in map(str, allowed):
            raise ConfigurationError(f"the template's parameter {name} takes {allowed}, not {value!r}.")
    return values


def _merge(shared: Any, own: Any) -> Any:
    """Globals under a resource's own properties, as SAM does it: maps merge, lists join, the rest is overridden."""
    if _is_plain(shared) and _is_plain(own):
        return {**shared, **{key: _merge(shared[key], value) if key in shared else value for key, value in own.items()}}
    if isinstance(shared, list) and isinstance(own, list):
        return [*shared, *own]
    return own


def _is_plain(value: Any) -> bool:
    return isinstance(value, dict) and not any(key == "Ref" or str(key).startswith("Fn::") for key in value)


if TYPE_CHECKING:
    from yaml import SafeLoader as _YamlLoader
else:
    _YamlLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the compiled one is ten times as fast


class _Loader(_YamlLoader):
    """YAML with CloudFormation's short forms: `!Ref Table` is {"Ref": "Table"}."""


def _intrinsic(loader: Any, tag: str, node: yaml.Node) -> dict[str, Any]:
    match node:
        case yaml.ScalarNode():
            argument = loader.construct_scalar(node)
        case yaml.SequenceNode():
            argument = loader.construct_sequence(node, deep=True)
        case _:
            argument = loader.construct_mapping(node, deep=True)
    return {tag if tag in ("Ref", "Condition") else f"Fn::{tag}": argument}


_Loader.add_multi_constructor("!", _intrinsic)


@lru_cache(maxsize=8)
def _parse(path: Path, _modified: int) -> Mapping[str, Any]:
    document = yaml.load(path.read_text(), _Loader)
    if not isinstance(document, dict) or "Resources" not in document:
        raise ConfigurationError(f"{path} is no CloudFormation template: it has no Resources.")
    return document

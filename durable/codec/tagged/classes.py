"""Which classes are ever rebuilt from stored bytes, and how they are named and found: `module:qualname`.

Only classes of the five kinds, only in modules that are loaded already: stored bytes can import and call nothing else.
"""

from __future__ import annotations

import dataclasses
import sys
from enum import Enum, StrEnum
from functools import lru_cache
from typing import Any

import msgspec

from durable.codec.refusal import Refusal

_HOLDERS = (BaseException, type, str, int, float, complex, bytes, bytearray, tuple, list, dict, set, frozenset)
"""Builtins that hold something beside fields: a dataclass derived from one would come back without it."""


class Kind(StrEnum):
    """How a class keeps its parts."""

    DATACLASS = "dataclass"
    ENUM = "enum"
    NAMED_TUPLE = "namedtuple"
    PYDANTIC = "pydantic"
    STRUCT = "struct"


@lru_cache(maxsize=1024)
def kind_of(cls: type) -> Kind | None:
    """The class's kind; None for a class that is never rebuilt."""
    if issubclass(cls, Enum):
        return Kind.ENUM
    if issubclass(cls, tuple) and hasattr(cls, "_fields") and hasattr(cls, "_field_defaults"):
        return Kind.NAMED_TUPLE
    if issubclass(cls, _HOLDERS):
        return None
    if issubclass(cls, msgspec.Struct):
        return Kind.STRUCT
    if _is_pydantic(cls):
        return Kind.PYDANTIC
    return Kind.DATACLASS if dataclasses.is_dataclass(cls) else None


def _is_pydantic(cls: type) -> bool:
    main = sys.modules.get("pydantic.main")  # loaded already, if there is a model at all
    return main is not None and issubclass(cls, main.BaseModel)


@lru_cache(maxsize=1024)
def reference(cls: type) -> str:
    """`module:qualname`; refuses a class that could not be found by it again."""
    name = f"{cls.__module__}:{cls.__qualname__}"
    if _look_up(name) is not cls:
        where = "in a function" if "<locals>" in name else f"where its name says ({name})"
        raise Refusal(
            f"is of the class {cls.__qualname__}, defined {where} and not at the top of a module, so that another "
            "process can't find it. Move the class to module level, or annotate the result with it."
        )
    return name


def find(name: str) -> type:
    """The class of a reference, among the modules loaded now."""
    found = _look_up(name)
    if not isinstance(found, type) or kind_of(found) is None:
        module = name.partition(":")[0]
        loaded = "has no such class" if module in sys.modules else "is not loaded: import it where the workflow is"
        raise Refusal(
            f"is of the class {name}, which can't be found ({module} {loaded}). If it was renamed or moved, "
            "leave an alias under its old name."
        )
    return found


def _look_up(name: str) -> Any:
    """Through `__dict__` alone: a module's `__getattr__` may import things."""
    module, _, qualname = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in qualname.split("."):
        found = getattr(found, "__dict__", {}).get(part)
    return found

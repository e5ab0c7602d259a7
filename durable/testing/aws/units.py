"""Read and write units by DynamoDB's published rules, from the sizes of items (moto's own figures are constants)."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Item = Mapping[str, Mapping[str, Any]]  # as on the wire: {"pk": {"S": "order-1"}}

READ_BLOCK = 4096
WRITE_BLOCK = 1024


@dataclass(frozen=True, slots=True)
class Units:
    """What a call costs: units of the table, and of the writes to its indexes."""

    read: float = 0
    write: float = 0
    index: float = 0

    def __add__(self, other: Units) -> Units:
        return Units(self.read + other.read, self.write + other.write, self.index + other.index)


@dataclass(frozen=True, slots=True)
class Index:
    """A secondary index, as far as its cost goes."""

    keys: tuple[str, ...]
    projected: frozenset[str] | None  # attributes with the keys; None: all

    def entry(self, item: Item | None) -> Item | None:
        """What the index holds of the item; None when the item lacks a key of it (a sparse index)."""
        if item is None or any(key not in item for key in self.keys):
            return None
        if self.projected is None:
            return item
        return {name: value for name, value in item.items() if name in self.projected}


def indexes(settings: Mapping[str, Any]) -> tuple[Index, ...]:
    """The global secondary indexes of a table's settings."""
    table_keys = [key["AttributeName"] for key in settings["KeySchema"]]
    found = []
    for index in settings.get("GlobalSecondaryIndexes", ()):
        keys = tuple(key["AttributeName"] for key in index["KeySchema"])
        projection = index["Projection"]
        everything = projection["ProjectionType"] == "ALL"
        names = frozenset([*keys, *table_keys, *projection.get("NonKeyAttributes", ())])
        found.append(Index(keys, None if everything else names))
    return tuple(found)


def item_size(item: Item | None) -> int:
    """Bytes of an item: the UTF-8 of its attributes' names, and their values."""
    if not item:
        return 0
    return sum(len(name.encode()) + _value_size(value) for name, value in item.items())


def _value_size(typed: Mapping[str, Any]) -> int:
    ((kind, value),) = typed.items()
    match kind:
        case "S":
            return len(value.encode())
        case "B":
            return len(_binary(value))
        case "N":
            return _number_size(value)
        case "BOOL" | "NULL":
            return 1
        case "SS":
            return sum(len(member.encode()) for member in value)
        case "NS":
            return sum(map(_number_size, value))
        case "BS":
            return sum(len(_binary(member)) for member in value)
        case "L":
            return 3 + sum(1 + _value_size(member) for member in value)
        case _:  # M
            return 3 + sum(1 + len(name.encode()) + _value_size(member) for name, member in value.items())


def _binary(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else base64.b64decode(value)


def _number_size(text: str) -> int:
    """A byte for two significant digits and one more; another one for the sign of a negative number."""
    digits = text.lstrip("-").split("e")[0].split("E")[0].replace(".", "").strip("0")
    return (len(digits) + 1) // 2 + 1 + text.startswith("-")


def blocks(size: int, block: int) -> int:
    """Blocks begun; an item that is not there counts as one."""
    return max(1, -(-size // block))


def read_units(size: int, *, consistent: bool) -> float:
    """Units to read so many bytes."""
    return blocks(size, READ_BLOCK) * (1.0 if consistent else 0.5)


def write_units(old: Item | None, new: Item | None) -> float:
    """Units to write an item: by the larger of before and after, however small the change is."""
    return float(blocks(max(item_size(old), item_size(new)), WRITE_BLOCK))


def index_units(table_indexes: Iterable[Index], old: Item | None, new: Item | None) -> float:
    """Units that a write causes in the indexes: none when neither key nor projection changes."""
    total = 0
    for index in table_indexes:
        before, after = index.entry(old), index.entry(new)
        if before == after:
            continue
        if before and after and all(before[key] == after[key] for key in index.keys):
            total += blocks(max(item_size(before), item_size(after)), WRITE_BLOCK)
            continue
        total += sum(blocks(item_size(entry), WRITE_BLOCK) for entry in (before, after) if entry)  # delete, then put
    return float(total)

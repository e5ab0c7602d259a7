"""What each call on the wire costs in DynamoDB's units."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from durable.testing.aws.units import Index, Item, Units, index_units, indexes, item_size, read_units, write_units
from durable.testing.aws.wire import Answer, Request
from durable.testing.template.stack import Table

ReadItem = Callable[[str, Item], Item | None]  # table name and key: the item as it stands

_SINGLE_WRITES = ("PutItem", "UpdateItem", "DeleteItem")


@dataclass(frozen=True, slots=True)
class Touched:
    """An item that a call writes or checks, as it was before."""

    table: str
    key: Item
    old: Item | None
    checked_only: bool = False


class Meter:
    """Computes units from the items before and after a call."""

    def __init__(self, tables: Mapping[str, Table], read: ReadItem) -> None:
        self._read = read
        self._applied: set[str] = set()  # tokens of transactions
        self._keys = {
            table.name: tuple(key["AttributeName"] for key in table.settings["KeySchema"]) for table in tables.values()
        }
        self._indexes: dict[str, tuple[Index, ...]] = {table.name: indexes(table.settings) for table in tables.values()}

    def before(self, request: Request) -> tuple[Touched, ...]:
        """The items that the call is going to write."""
        if request.service != "dynamodb":
            return ()
        return tuple(
            Touched(table, key, self._read(table, key), checked_only)
            for table, key, checked_only in self._written(request)
            if table in self._keys
        )

    def units(self, request: Request, answer: Answer, touched: tuple[Touched, ...]) -> Units:
        """The cost, now that the answer is there. A refused condition costs what the item costs, or one unit."""
        if request.service != "dynamodb":
            return Units()
        factor = 2 if request.operation.startswith("Transact") else 1
        if self._repeated(request, answer):  # it only reads
            return Units(read=sum(factor * read_units(item_size(item.old), consistent=True) for item in touched))
        total = Units(read=factor * self._read_units(request, answer))
        for item in touched:
            new = item.old if item.checked_only else self._read(item.table, item.key)
            total += Units(
                write=factor * write_units(item.old, new),
                index=index_units(self._indexes[item.table], item.old, new),
            )
        return total

    def _repeated(self, request: Request, answer: Answer) -> bool:
        """Whether it is a transaction that was applied before."""
        token = request.parameters.get("ClientRequestToken")
        if request.operation != "TransactWriteItems" or token is None or answer.error is not None:
            return False
        repeated = token in self._applied
        self._applied.add(token)
        return repeated

    def key_of(self, request: Request) -> tuple[str, Item] | None:
        """The table and key of a call on a single item."""
        if request.service != "dynamodb":
            return None
        table = str(request.parameters.get("TableName", ""))
        if key := request.parameters.get("Key"):
            return table, key
        if table in self._keys and (item := request.parameters.get("Item")):
            return table, {name: item[name] for name in self._keys[table]}
        return None

    def keys_written(self, request: Request) -> Iterator[tuple[str, Item]]:
        """The tables and keys that the call writes."""
        if request.service == "dynamodb":
            yield from ((table, key) for table, key, checked_only in self._written(request) if not checked_only)

    def size(self, table: str, key: Item) -> int:
        """Bytes of the item as it stands."""
        return item_size(self._read(table, key)) if table in self._keys else 0

    def _written(self, request: Request) -> Iterator[tuple[str, Item, bool]]:
        parameters = request.parameters
        if request.operation in _SINGLE_WRITES:
            yield from self._one(parameters, checked_only=False)
        elif request.operation == "TransactWriteItems":
            for action in parameters["TransactItems"]:
                ((kind, details),) = action.items()
                yield from self._one(details, checked_only=kind == "ConditionCheck")
        elif request.operation == "BatchWriteItem":
            for table, writes in parameters["RequestItems"].items():
                for write in writes:
                    ((_, details),) = write.items()
                    yield from self._one({"TableName": table, **details}, checked_only=False)

    def _one(self, details: Mapping[str, Any], *, checked_only: bool) -> Iterator[tuple[str, Item, bool]]:
        table = details["TableName"]
        if table in self._keys:
            named = details.get("Key") or details["Item"]
            yield table, {name: named[name] for name in self._keys[table]}, checked_only

    def _read_units(self, request: Request, answer: Answer) -> float:
        parameters = request.parameters
        consistent = bool(parameters.get("ConsistentRead", False))
        match request.operation:
            case "GetItem" if parameters["TableName"] in self._keys:
                # a projection does not make it cheaper: the whole item is read
                item = self._read(parameters["TableName"], parameters["Key"])
                return read_units(item_size(item), consistent=consistent)
            case "Query" | "Scan":
                # exact where the answer holds whole items, or an index's whole entries
                size = sum(map(item_size, answer.body.get("Items", ())))
                return read_units(size, consistent=consistent)
            case "BatchGetItem":
                return sum(read_units(size, consistent=consistent) for size in self._sizes(answer))
            case "TransactGetItems":
                return sum(read_units(size, consistent=True) for size in self._sizes(answer))
            case _:
                return 0

    def _sizes(self, answer: Answer) -> Iterator[int]:
        responses = answer.body.get("Responses", ())
        if isinstance(responses, dict):  # of a batch: items by table
            for items in responses.values():
                yield from map(item_size, items)
        else:
            yield from (item_size(entry.get("Item")) for entry in responses)

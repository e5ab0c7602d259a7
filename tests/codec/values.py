"""Classes of every kind that the codec stores, at module level as a user would have them."""

from __future__ import annotations

import enum
from collections import namedtuple
from dataclasses import InitVar, dataclass, field
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from typing import Any, Generic, Literal, NamedTuple, TypedDict, TypeVar
from uuid import UUID

import msgspec
import pydantic

T = TypeVar("T")


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Mood(enum.StrEnum):
    GOOD = "good"


Named = enum.Enum("Named", {"ONE": "one"}, type=str, module=__name__)
"""An Enum that is a str, from before StrEnum."""


class Mixed(enum.Enum):
    NUMBER = 1
    TEXT = "text"
    PAIR = (1, 2)


class Opaque(enum.Enum):
    """Members whose values can't be stored."""

    THING = object()
    NOT_A_NUMBER = float("nan")


class Access(enum.Flag):
    READ = 1
    WRITE = 2


class Bits(enum.IntFlag):
    ONE = 1
    TWO = 2


@dataclass
class Line:
    sku: str
    quantity: int
    price: Decimal


@dataclass
class GiftLine(Line):
    wish: str = ""


@dataclass
class Order:
    id: UUID
    lines: list[Line]
    placed: datetime
    note: str | None = None
    labels: dict[str, str] = field(default_factory=dict)


@dataclass
class LoggedOrder(Order):
    """A subclass without fields of its own: its text is that of an Order."""


@dataclass(frozen=True)
class Frozen:
    x: int
    y: float = 1.0


@dataclass(slots=True)
class Slotted:
    x: int
    y: str = "why"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tight:
    name: str
    on: date


@dataclass
class Box(Generic[T]):
    item: T


@dataclass
class Derived:
    """A field that `__init__` doesn't take."""

    x: int
    double: int = field(init=False)

    def __post_init__(self) -> None:
        self.double = self.x * 2


@dataclass
class Defaulted:
    """A field that only the class has, until it is assigned."""

    x: int
    state: str = field(init=False, default="new")


@dataclass
class Counted:
    """`__post_init__` must not run again: it would count on."""

    count: int

    def __post_init__(self) -> None:
        self.count += 1


@dataclass
class Seeded:
    x: int
    seed: InitVar[int] = 3

    def __post_init__(self, seed: int) -> None:
        self.x += seed


@dataclass
class Indexed:
    """An attribute that is no field, and a cached property that is no data."""

    names: list[str]

    def __post_init__(self) -> None:
        self.index = {name: place for place, name in enumerate(self.names)}

    @cached_property
    def total(self) -> int:
        return len(self.names)


@dataclass
class Node:
    value: int
    next: Node | None = None


@dataclass
class Holder:
    held: Any


@dataclass
class Refund:
    id: UUID
    amount: Decimal


class Point(NamedTuple):
    x: int
    y: int = 0


Pair = namedtuple("Pair", ["left", "right"])


class Outer:
    @dataclass
    class Inner:
        x: int


class Options(TypedDict, total=False):
    limit: int
    verbose: bool


Choice = Literal["card", "cash", 1, None]


class Shape(msgspec.Struct):
    sides: int
    name: str = "shape"


class Customer(pydantic.BaseModel):
    id: int
    name: str = "anonymous"
    balance: Decimal = Decimal("0.00")
    joined: date | None = None


class Account(pydantic.BaseModel):
    owner: Customer
    lines: list[Line]
    level: Level = Level.LOW
    photo: bytes = b""
    tags: set[str] = set()


class Open(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    x: int


class Secretive(pydantic.BaseModel):
    x: int
    _seen: int = pydantic.PrivateAttr(default=0)


class Site(pydantic.BaseModel):
    url: pydantic.HttpUrl
    visits: int = 0


class Secret(pydantic.BaseModel):
    password: pydantic.SecretStr


class Validated(pydantic.BaseModel):
    """Its validator must not run again: it would add on."""

    count: int

    @pydantic.field_validator("count")
    @classmethod
    def one_more(cls, count: int) -> int:
        return count + 1


class Aliased(pydantic.BaseModel):
    unit_price: Decimal = pydantic.Field(alias="unitPrice")


class Numbers(pydantic.RootModel[list[int]]):
    pass

"""Errors and values that raise while they are described or encoded: what a library's objects do, and worse."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any, NamedTuple

LONG = "n" * 300_000


class Panic(BaseException):
    """What a library raises that wants no `except Exception` to see it."""


# --- errors ------------------------------------------------------------------------------------------------------------


class ApiError(Exception):
    """An error that takes its attributes from a response."""

    def __init__(self, **attributes: object) -> None:
        super().__init__("the API failed")
        self.__dict__.update(attributes)


def with_attributes(attributes: dict[Any, object]) -> Callable[[], BaseException]:
    def make() -> BaseException:
        error = ApiError()
        error.__dict__.update(attributes)
        return error

    return make


class Word(str):
    """A string that does not let itself be looked at."""

    __slots__ = ()

    def startswith(self, *_arguments: object) -> bool:
        raise RuntimeError("not yours to see")

    def encode(self, *_arguments: object, **_named: object) -> bytes:
        raise RuntimeError("not yours to see")

    def __str__(self) -> str:
        raise RuntimeError("not yours to see")


class Number(int):
    def __int__(self) -> int:
        raise RuntimeError("not a number today")

    def __abs__(self) -> int:
        raise RuntimeError("not a number today")

    def __index__(self) -> int:
        raise RuntimeError("not a number today")


class Ratio(float):
    def __float__(self) -> float:
        raise RuntimeError("not a number today")


class Disguised:
    """An object whose class can't be asked for."""

    @property
    def __class__(self) -> Any:
        raise RuntimeError("no class")


def speaking(answer: Callable[[], object]) -> Callable[[], BaseException]:
    """An error whose text is what a function returns."""

    class Speaking(Exception):
        def __str__(self) -> Any:
            return answer()

        __repr__ = __str__

    return Speaking


def raising(error: BaseException) -> Callable[[], object]:
    def answer() -> object:
        raise error

    return answer


class NoDict(Exception):
    @property
    def __dict__(self) -> Any:
        raise RuntimeError("no attributes")


class OddDict(Exception):
    @property
    def __dict__(self) -> Any:
        return 404


class Closed(Exception):
    """An error of which no attribute can be read."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(f"no {name}")


class Nameless(type):
    @property
    def __name__(cls) -> str:
        raise RuntimeError("no name")


class OfNameless(Exception, metaclass=Nameless):
    """An error whose class does not say its name."""


ERRORS: dict[str, Callable[[], BaseException]] = {
    "a key that is a number": with_attributes({404: "not found"}),
    "a key that is None": with_attributes({None: "nothing"}),
    "a key with a lone surrogate": with_attributes({"\ud800": 1}),
    "a key that can not be looked at": with_attributes({Word("secret"): 1}),
    "a key of 300,000 characters": with_attributes({LONG: 1}),
    "many keys": with_attributes({f"k{number}": LONG for number in range(1_000)}),
    "a value with a lone surrogate": with_attributes({"reason": "\ud800"}),
    "a value of 300,000 characters": with_attributes({"reason": LONG}),
    "a value that can not be looked at": with_attributes({"reason": Word("secret")}),
    "a number that is none": with_attributes({"code": Number(7)}),
    "a ratio that is none": with_attributes({"code": Ratio(0.5)}),
    "a value without class": with_attributes({"cause": Disguised()}),
    "a text that raises": speaking(raising(RuntimeError("no words"))),
    "a text that panics": speaking(raising(Panic("no words"))),
    "a text that exits": speaking(raising(SystemExit(1))),
    "a text that is a number": speaking(lambda: 404),
    "a text with a lone surrogate": speaking(lambda: "\ud800"),
    "a text of 300,000 characters": speaking(lambda: LONG),
    "a text that can not be looked at": speaking(lambda: Word("secret")),
    "attributes that raise": NoDict,
    "attributes that are a number": OddDict,
    "nothing that can be read": Closed,
    "a class of 300,000 characters": type(LONG, (Exception,), {}),
    "a class without name": OfNameless,
    "a group of all that": lambda: ExceptionGroup("\ud800", [Closed(), NoDict()]),
    "a group of one": lambda: ExceptionGroup("one", [Closed()]),
}

# --- values ------------------------------------------------------------------------------------------------------------


@dataclass
class Row:
    """An ORM's object, whose session is closed."""

    id: int = 1

    def __getattribute__(self, name: str) -> Any:
        if name == "id":
            raise RuntimeError("the instance is detached from its session")
        return object.__getattribute__(self, name)


@dataclass
class Panicking:
    id: int = 1

    def __getattribute__(self, name: str) -> Any:
        if name == "id":
            raise Panic("the instance is detached from its session")
        return object.__getattribute__(self, name)


class Rows(list[int]):
    def __iter__(self) -> Iterator[int]:
        raise RuntimeError("the cursor is closed")

    def __len__(self) -> int:
        raise RuntimeError("the cursor is closed")


class Fields(dict[str, int]):
    def items(self) -> Any:
        raise RuntimeError("the cursor is closed")

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("the cursor is closed")


class Pair(NamedTuple):
    first: object
    second: object


class Odd(Enum):
    ONE = object()


def deep(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


def circle() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["itself"] = value
    return value


class Rude:
    """An object that raises whatever it is asked."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(f"no {name}")

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


VALUES: dict[str, Callable[[], object]] = {
    "a detached row": Row,
    "a detached row in a list": lambda: [{"rows": (Row(),)}],
    "a row that panics": Panicking,
    "a list that can not be read": lambda: Pair(Rows([1]), None),
    "a dict that can not be read": lambda: {"fields": Fields(a=1)},
    "an object without class": Disguised,
    "an object that answers nothing": Rude,
    "an object that answers nothing in a dict": lambda: {"rude": [Rude()]},
    "a lone surrogate": lambda: {"text": "\ud800"},
    "a lone surrogate in a key": lambda: {"\ud800": 1},
    "ten thousand lists in one another": lambda: deep(10_000),
    "a circle": circle,
    "a generator": lambda: (number for number in range(3)),
    "a class of its own": lambda: Decimal,
}

"""Objects of a user's that misbehave whenever the library looks at them: errors to raise, and values to return."""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NoReturn
from unittest.mock import MagicMock, Mock

import pydantic
from hypothesis import strategies as st

from durable import StepFailed


class Panic(BaseException):
    """What a library raises that wants no `except Exception` to see it."""


def _recursion() -> RecursionError:
    return RecursionError("maximum recursion depth exceeded")


RAISED: list[Callable[[], BaseException]] = [
    lambda: AttributeError("no such attribute"),
    lambda: ValueError("\ud800 is no text"),
    TypeError,
    lambda: KeyError(404),
    lambda: StopIteration(3),
    _recursion,
    MemoryError,
    lambda: Panic("out of order"),
    lambda: SystemExit(3),
    GeneratorExit,
    asyncio.CancelledError,
    lambda: BaseExceptionGroup("several", [Panic("one"), ValueError("two")]),
]
"""What an object raises when it is looked at; never a KeyboardInterrupt, which is the user's at the keyboard."""

LIES = [str, int, dict, list, bytes, enum.Enum, Exception, StepFailed, type]
HOOKS = [
    "__getattribute__",
    "__getattr__",
    "__repr__",
    "__str__",
    "__format__",
    "__hash__",
    "__eq__",
    "__lt__",
    "__len__",
    "__iter__",
    "__next__",
    "__contains__",
    "__getitem__",
    "__bool__",
    "__int__",
    "__index__",
    "__float__",
    "__abs__",
    "__neg__",
    "__reduce__",
    "__reduce_ex__",
    "__getstate__",
    "__copy__",
    "__deepcopy__",
    "__dir__",
    "__instancecheck__",
    "__subclasscheck__",
    "__sizeof__",
    "keys",
    "items",
    "values",
    "encode",
    "isoformat",
    "utcoffset",
    "model_dump",
]
FACADES = ["__class__", "__dict__", "__name__", "__qualname__", "__module__", "_fields", "__dataclass_fields__"]


def raising(make: Callable[[], BaseException]) -> Callable[..., NoReturn]:
    """A function of any arguments that raises."""

    def misbehave(*_arguments: Any, **_named: Any) -> NoReturn:
        raise make()

    return misbehave


@dataclass(frozen=True)
class Recipe:
    """How a hostile object is made: as text, for the object itself can't be shown when a test fails."""

    base: type
    hooks: dict[str, int]  # names, each with the place in RAISED of what calling it raises
    facades: dict[str, int | type]  # names, each with the place of what reading it raises, or a lie
    attributes: list[int]  # places in ODD_NAMES
    long_name: bool = False
    of_metaclass: bool = False

    def make(self) -> Any:
        """The object; a plain one where Python itself refuses such a class."""
        names: dict[str, Any] = {name: raising(RAISED[at]) for name, at in self.hooks.items()}
        for name, told in self.facades.items():
            names[name] = property(raising(RAISED[told]) if isinstance(told, int) else lambda self, lie=told: lie)
        try:
            base = type if self.of_metaclass else self.base
            cls: Any = type("B" * 5_000 if self.long_name else "Broken", (base,), names)
            value = cls("Victim", (), {})() if self.of_metaclass else cls.__new__(cls)
        except BaseException:
            value = type("Plain", (), {})()
        with suppress(BaseException):  # it has no __dict__, or shows none
            object.__getattribute__(value, "__dict__").update({ODD_NAMES[at]: ODD_NAMES[at] for at in self.attributes})
        return value


RAISES = st.integers(0, len(RAISED) - 1)
ODD_NAMES: list[Any] = [404, None, ("a", 1), "\ud800", "x" * 300_000, "", "~", "_private", "code", True, 3.5, b"bytes"]


def recipes(*bases: type) -> st.SearchStrategy[Recipe]:
    """Objects of subclasses of these."""
    return st.builds(
        Recipe,
        base=st.sampled_from(bases),
        hooks=st.dictionaries(st.sampled_from(HOOKS), RAISES, max_size=6),
        facades=st.dictionaries(st.sampled_from(FACADES), RAISES | st.sampled_from(LIES), max_size=2),
        attributes=st.lists(st.integers(0, len(ODD_NAMES) - 1), max_size=3),
        long_name=st.booleans(),
        of_metaclass=st.booleans() if object in bases else st.just(False),
    )


VALUE_RECIPES = recipes(object, dict, list, tuple, set, str, int, float, bytes, Exception, BaseException)
ERROR_RECIPES = recipes(Exception, ValueError, OSError, Panic, StepFailed)


# --- by name, for scenarios -------------------------------------------------------------------------------------------


class Attributes(Exception):
    """An error that carries what it is given in its `__dict__`."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__("refused")
        self.__dict__.update(attributes)

    @classmethod
    def odd(cls, attributes: dict[Any, Any]) -> Attributes:
        """With names that are no names."""
        error = cls()
        error.__dict__.update(attributes)
        return error


class LoudText(str):
    """Text whose methods raise."""

    encode = raising(RAISED[0])
    __len__ = raising(RAISED[1])
    __str__ = raising(RAISED[7])
    __getitem__ = raising(RAISED[3])
    __iter__ = raising(RAISED[3])
    __eq__ = raising(RAISED[3])
    __hash__ = str.__hash__


class LoudNumber(int):
    """A number whose methods raise."""

    __int__ = raising(RAISED[0])
    __index__ = raising(RAISED[0])
    __abs__ = raising(RAISED[7])
    __lt__ = raising(RAISED[1])


class LoudFloat(float):
    """A float whose methods raise."""

    __float__ = raising(RAISED[0])


class BadStr(Exception):
    """An error that can't be put into words."""

    def __init__(self, make: Callable[[], BaseException]) -> None:
        self.make = make

    def __str__(self) -> str:
        raise self.make()


class TextOfItsOwn(Exception):
    """An error whose message is text with methods that raise."""

    def __str__(self) -> str:
        return LoudText("refused")


class NoDict(Exception):
    """An error that refuses to show its attributes."""

    @property
    def __dict__(self) -> Any:
        raise Panic("not yours to see")


class Pretender(Exception):
    """An error that claims to be of another class."""

    @property
    def __class__(self) -> Any:
        return StepFailed


class Shy(Exception):
    """An error that lets nobody ask for its class."""

    @property
    def __class__(self) -> Any:
        raise Panic("not yours to see")


class Half(StepFailed):
    """A StepFailed without what a StepFailed has."""

    def __init__(self) -> None:
        Exception.__init__(self, "half made")


class ClosedGroup(ExceptionGroup):
    """A group that does not show its members."""

    @property
    def exceptions(self) -> Any:
        raise Panic("not yours to see")


class Response(Exception):
    """An error with a response, as botocore has it, that raises when it is looked into."""

    def __init__(self) -> None:
        super().__init__("refused")
        self.response = Unreadable()


ERRORS: dict[str, Callable[[], BaseException]] = {
    "an attribute whose name is a number": lambda: Attributes.odd({404: "not found"}),
    "an attribute whose name is None": lambda: Attributes.odd({None: 1, ("a", 1): 2, b"x": 3}),
    "a lone surrogate in a name": lambda: Attributes.odd({"\ud800": 1}),
    "a lone surrogate in a value": lambda: Attributes(code="\ud800"),
    "a name of 300,000 characters": lambda: Attributes.odd({"x" * 300_000: 1}),
    "twenty values of 300,000 characters": lambda: Attributes(**{f"a{n}": "\x00" * 300_000 for n in range(20)}),
    "a message of 300,000 characters": lambda: ValueError("\x00" * 300_000),
    "text with methods that raise": lambda: Attributes(code=LoudText("declined")),
    "a number with methods that raise": lambda: Attributes(code=LoudNumber(7), part=LoudFloat(0.5)),
    "attributes that raise": lambda: Attributes(code=Unreadable(), other=Faceless()),
    "no attributes to be seen": NoDict,
    "a class that is a lie": Pretender,
    "a class that is not told": Shy,
    "a StepFailed that is none": Half,
    "a message that is text of its own": TextOfItsOwn,
    "a group without members": lambda: ClosedGroup("several", [ValueError("one")]),
    "a response that raises": Response,
    "a class with a very long name": lambda: type("E" * 300_000, (Exception,), {})("refused"),
    **{f"str() raises {make()!r}"[:60]: lambda make=make: BadStr(make) for make in RAISED},
}


class Unreadable:
    """An object each of whose attributes raises, as those of a detached ORM object do."""

    def __getattribute__(self, name: str) -> NoReturn:
        raise Panic(f"{name} can't be loaded: the object is detached from its session")


class Faceless:
    """An object that lets nobody ask for its class, nor for anything else."""

    __repr__ = raising(RAISED[8])
    __hash__ = raising(RAISED[8])
    __eq__ = raising(RAISED[8])

    @property
    def __class__(self) -> Any:
        raise ValueError("not yours to see")


@dataclass
class Detached:
    """A dataclass of an ORM whose session is closed."""

    id: int
    lines: list[str] = field(default_factory=list)

    def __getattribute__(self, name: str) -> Any:
        if name == "lines":
            raise LookupError("Detached is not bound to a Session; lazy load of 'lines' can't proceed")
        return object.__getattribute__(self, name)


@dataclass
class ExitingField(Detached):
    """The same, with an error that is no Exception."""

    def __getattribute__(self, name: str) -> Any:
        if name == "lines":
            raise SystemExit(3)
        return object.__getattribute__(self, name)


@dataclass
class Refusing:
    """A dataclass that can't be made again."""

    amount: int

    def __post_init__(self) -> None:
        if made:
            raise Panic("only once")


made = False


class Model(pydantic.BaseModel):
    """A model whose serializer raises; it holds what only the serializer could store."""

    model_config = pydantic.ConfigDict(arbitrary_types_allowed=True)
    secret: pydantic.SecretStr = pydantic.SecretStr("x")

    @pydantic.field_serializer("secret")
    def _show(self, value: pydantic.SecretStr) -> str:
        raise Panic("not yours to see")


class Odd(enum.Enum):
    """An Enum whose members can't be found by their values."""

    ONE = 1

    @property
    def value(self) -> Any:
        raise Panic("not yours to see")


class Items(dict[str, Any]):
    """A dict whose methods raise."""

    items = raising(RAISED[1])
    __iter__ = raising(RAISED[7])
    __len__ = raising(RAISED[7])


class Endless:
    """An iterator that never ends."""

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        return 1


def deep(levels: int) -> list[Any]:
    """A list in a list in a list."""
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


class Meta(type):
    """A metaclass whose classes raise when they are asked anything."""

    __hash__ = raising(RAISED[7])

    def __getattribute__(cls, name: str) -> Any:
        if name in ("__name__", "__qualname__", "__module__", "_fields", "__dataclass_fields__"):
            raise Panic(name)
        return type.__getattribute__(cls, name)


class OfMeta(metaclass=Meta):
    """A class whose own class misbehaves."""


VALUES: dict[str, Callable[[], Any]] = {
    "attributes that raise": Unreadable,
    "no class": Faceless,
    "a detached object": lambda: Detached(1),
    "an attribute that exits": lambda: ExitingField(1),
    "a model whose serializer raises": Model,
    "a member whose value raises": lambda: Odd.ONE,
    "a dict whose methods raise": lambda: Items(a=1),
    "text whose methods raise": lambda: LoudText("x"),
    "a number whose methods raise": lambda: LoudNumber(3),
    "an iterator without end": Endless,
    "a list of a hundred thousand levels": lambda: deep(100_000),
    "a class whose class misbehaves": OfMeta,
    "a mock": MagicMock,
    "a mock of a class": lambda: Mock(spec=Detached),
    "in a list": lambda: [1, Detached(1)],
    "in a dict": lambda: {"order": Detached(1)},
    "as a key": lambda: {Detached: 1, Odd.ONE: 2},
    "a lone surrogate": lambda: {"\ud800": "\ud800"},
    "an error": lambda: Attributes.odd({404: Unreadable()}),
}

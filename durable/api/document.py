"""The execution's durable document: `step.state`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from durable import codec
from durable.errors import CodecError, Interrupt
from durable.usercode.signatures import result_type


class StateUnreadable(Interrupt):
    """Leaves a body whose state can't be read: its execution diverges, and nothing of the body is recorded."""


class Document:
    """The state as one body sees it: read from storage at the first use, compared with it at the end."""

    __slots__ = ("_annotation", "_factory", "_loaded", "_raises", "_read_stored", "_stored", "_value", "unreadable")

    def __init__(
        self,
        read: Callable[[], bytes],
        factory: Callable[[], Any] | None,
        raises: type[StateUnreadable] | type[CodecError] = StateUnreadable,
    ) -> None:
        """`raises`: what tells that the document can't be read: outside of a body it is an error like any other."""
        self._raises = raises
        self._read_stored = read
        self._stored = b""
        self._factory = factory
        self._annotation: Any = factory if isinstance(factory, type) else None
        self._loaded = False
        self._value: Any = None
        self.unreadable: Exception | None = None  # why the document could not be read

    @property
    def value(self) -> Any:
        """The document; the same object throughout one body."""
        if not self._loaded:
            self._value = self._read()
            self._loaded = True
        return self._value

    @value.setter
    def value(self, value: Any) -> None:
        if not self._loaded:
            self._stored = self._read_stored()
        self._value = value
        self._loaded = True

    def changes(self) -> bytes:
        """What is to be stored; empty when the body left the document as it was. Raises CodecError."""
        if not self._loaded:
            return b""
        try:
            encoded = codec.encode(self._value, self._type())
        except CodecError as error:
            raise CodecError(f"the state can't be stored: {error}", f"state{error.path[1:]}") from error
        return b"" if encoded == self._stored else encoded

    def _read(self) -> Any:
        self._stored = self._read_stored()
        if not self._stored:
            return None if self._factory is None else self._factory()
        try:
            return codec.decode(self._stored, self._type())
        except Exception as error:  # the code of today can't read what is recorded
            self.unreadable = error
            raise self._raises(f"the state can't be read: {error}") from error

    def _type(self) -> Any:
        if self._annotation is None:
            origin = getattr(self._factory, "__origin__", None)  # dict[str, int] is a factory and an annotation
            known = self._factory if origin is not None else None
            self._annotation = known or (Any if self._factory is None else result_type(self._factory))
        return self._annotation

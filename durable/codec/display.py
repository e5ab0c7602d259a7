"""Text about any object of the user's, for messages and views: getting it never raises, and it is never long."""

from __future__ import annotations

from typing import Any

from durable.errors import is_failure

MAX_NAME = 200
MAX_TEXT = 500
_qualname = type.__dict__["__qualname__"].__get__  # the class's own word, whatever its metaclass makes of the attribute
_module = type.__dict__["__module__"].__get__
_name = type.__dict__["__name__"].__get__


def clean(text: str, most: int = MAX_TEXT) -> str:
    """Return text that can be encoded, cut after so many characters."""
    whole = str.encode(text, "utf-8", "replace").decode()  # a subclass may have methods of its own
    return whole if len(whole) <= most else whole[:most] + "…"


def class_name(value: object) -> str:
    """Return the name of the object's class, as a traceback has it."""
    return clean(_name(type(value)), MAX_NAME)


def qualified_name(cls: Any) -> str:
    """Return the name of a class with those of the classes and functions around it."""
    return clean(_qualname(cls), MAX_NAME)


def module_of(cls: Any) -> str:
    """Return the name of the module that a class says it is of."""
    module = _module(cls)
    return clean(module) if isinstance(module, str) else ""


def shown_value(value: object) -> str:
    """Return the object's repr, or its class where even that fails."""
    try:
        text = repr(value)
        return str.encode(text, errors="backslashreplace").decode()
    except BaseException as error:
        if not is_failure(error):
            raise
        return f"<{qualified_name(type(value))}>"


def shown_values(values: Any, most: int = 200) -> str:
    """Return several objects for a message, separated by commas and cut to a readable length."""
    return clean(", ".join(clean(shown_value(value), most) for value in values), most)


def message_of(error: BaseException, most: int = MAX_TEXT) -> str:
    """Return the error's message, or that it has none to give."""
    try:
        return clean(str(error), most)
    except BaseException as raised:
        if not is_failure(raised):
            raise
        return f"(str() of this {class_name(error)} fails)"


def error_text(error: BaseException) -> str:
    """Return the error's class and message, as the last line of a traceback has them."""
    message = message_of(error)
    return f"{class_name(error)}: {message}" if message else class_name(error)

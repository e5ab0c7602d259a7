"""Event patterns, as EventBridge and Lambda's FilterCriteria match them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from durable.errors import ConfigurationError

_ABSENT = object()

_COMPARISONS = {
    "=": lambda value, limit: value == limit,
    "<": lambda value, limit: value < limit,
    "<=": lambda value, limit: value <= limit,
    ">": lambda value, limit: value > limit,
    ">=": lambda value, limit: value >= limit,
}


def matches(pattern: Mapping[str, Any], event: Any) -> bool:
    """Whether the event fits: each field of the pattern has one of the listed values, or satisfies one listed test."""
    return all(_field_matches(name, expected, event) for name, expected in pattern.items())


def _field_matches(name: str, expected: Any, event: Any) -> bool:
    if name == "$or":
        return any(matches(alternative, event) for alternative in expected)
    actual = event.get(name, _ABSENT) if isinstance(event, Mapping) else _ABSENT
    if isinstance(expected, Mapping):
        return matches(expected, actual)  # of an absent field, only `exists: false` further down can hold
    values = actual if isinstance(actual, list) and actual else [actual]
    return any(_value_matches(test, value) for test in expected for value in values)


def _value_matches(test: Any, value: Any) -> bool:
    if not isinstance(test, Mapping):
        return type(test) is type(value) and bool(test == value)
    ((operator, argument),) = test.items()
    if operator == "exists":
        return (value is not _ABSENT) is bool(argument)
    if value is _ABSENT:  # anything-but too: an absent field is not "anything"
        return False
    match operator:
        case "anything-but":
            refused = argument if isinstance(argument, list) else [argument]
            return not any(_value_matches(item, value) for item in refused)
        case "prefix":
            return isinstance(value, str) and value.startswith(argument)
        case "suffix":
            return isinstance(value, str) and value.endswith(argument)
        case "equals-ignore-case":
            return isinstance(value, str) and value.casefold() == argument.casefold()
        case "numeric":
            return _in_range(argument, value)
        case _:
            raise ConfigurationError(f"the pattern uses {operator!r}, which durable.testing does not match.")


def _in_range(limits: list[Any], value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return all(_COMPARISONS[sign](value, limit) for sign, limit in zip(limits[::2], limits[1::2], strict=True))

"""Event patterns, as EventBridge's documentation has them."""

from __future__ import annotations

from typing import Any

import pytest

from durable.errors import ConfigurationError
from durable.testing.aws.patterns import matches

CASES: list[tuple[Any, Any, bool]] = [
    ({"a": ["x", "y"]}, {"a": "y"}, True),
    ({"a": ["x"]}, {"a": "z"}, False),
    ({"a": ["x"]}, {}, False),
    ({"a": [1]}, {"a": 1}, True),
    ({"a": ["1"]}, {"a": 1}, False),
    ({"a": [None]}, {"a": None}, True),
    ({"a": ["x"]}, {"a": ["w", "x"]}, True),
    ({"a": {"b": ["x"]}}, {"a": {"b": "x"}}, True),
    ({"a": {"b": ["x"]}}, {"a": "b"}, False),
    ({"a": ["x"], "b": ["y"]}, {"a": "x", "b": "z"}, False),
    ({"a": [{"anything-but": ["x", "y"]}]}, {"a": "z"}, True),
    ({"a": [{"anything-but": ["x", "y"]}]}, {"a": "x"}, False),
    ({"a": [{"anything-but": "x"}]}, {"a": "x"}, False),
    ({"a": [{"anything-but": ["x"]}]}, {}, False),
    ({"a": [{"anything-but": {"prefix": "x"}}]}, {"a": "xy"}, False),
    ({"a": [{"exists": True}]}, {"a": None}, True),
    ({"a": [{"exists": True}]}, {}, False),
    ({"a": [{"exists": False}]}, {}, True),
    ({"a": {"b": [{"exists": False}]}}, {}, True),
    ({"a": [{"prefix": "or"}]}, {"a": "order"}, True),
    ({"a": [{"suffix": "er"}]}, {"a": "order"}, True),
    ({"a": [{"equals-ignore-case": "ORDER"}]}, {"a": "order"}, True),
    ({"a": [{"numeric": [">", 0, "<=", 5]}]}, {"a": 5}, True),
    ({"a": [{"numeric": [">", 0, "<=", 5]}]}, {"a": 6}, False),
    ({"a": [{"numeric": ["=", 5]}]}, {"a": "5"}, False),
    ({"$or": [{"a": ["x"]}, {"b": ["y"]}]}, {"b": "y"}, True),
    ({"$or": [{"a": ["x"]}, {"b": ["y"]}]}, {"b": "z"}, False),
]


@pytest.mark.parametrize(("pattern", "event", "fits"), CASES)
def test_a_pattern_matches_as_eventbridge_does(pattern: Any, event: Any, fits: bool) -> None:
    assert matches(pattern, event) is fits


def test_an_operator_that_is_not_known_is_named() -> None:
    with pytest.raises(ConfigurationError, match="'cidr'"):
        matches({"a": [{"cidr": "10.0.0.0/8"}]}, {"a": "10.0.0.1"})

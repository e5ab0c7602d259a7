"""A subset of DynamoDB's expressions, evaluated on an item: what writes of `step.transact` commonly ask for.

Conditions: `= <> < <= > >=`, BETWEEN, IN, AND, OR, NOT, parentheses, attribute_exists, attribute_not_exists,
begins_with, contains. Updates: SET with `+`, `-`, if_not_exists; REMOVE; ADD to a number. Paths are attributes of the
item itself, not of what is nested in them. Anything else raises Unsupported.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

Value = Mapping[str, Any]  # as boto3's client has it: {"N": "1"}
Item = Mapping[str, Value]

_TOKEN = re.compile(r"\s*(?:(<>|<=|>=|[=<>(),+\-])|([#:]?[A-Za-z_][\w\-]*)|(\S))")
_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_FUNCTIONS = ("attribute_exists", "attribute_not_exists", "begins_with", "contains")
_CLAUSES = ("SET", "REMOVE", "ADD", "DELETE")


class Unsupported(Exception):
    """An expression, or a part of one, that is not evaluated here."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what}: the local store evaluates a part of DynamoDB's expressions only. Use a Harness on moto for this."
        )


class Invalid(Exception):
    """An expression that DynamoDB refuses too."""


def condition_holds(details: Mapping[str, Any], item: Item | None) -> bool:
    """Return whether the ConditionExpression of a write holds of the item as it stands."""
    expression = details.get("ConditionExpression")
    if expression is None:
        return True
    parser = _Parser(expression, details, item or {})
    found = parser.either()
    parser.end()
    return found


def updated(details: Mapping[str, Any], item: Item) -> Item:
    """Return the item after the UpdateExpression of a write."""
    parser = _Parser(details.get("UpdateExpression", ""), details, item)
    return parser.update()


class _Parser:
    """Reads an expression from left to right, and evaluates it as it goes."""

    def __init__(self, expression: str, details: Mapping[str, Any], item: Item) -> None:
        self._expression = expression
        self._tokens = [_checked(match, expression) for match in _TOKEN.finditer(expression.rstrip())]
        self._names: Mapping[str, str] = details.get("ExpressionAttributeNames", {})
        self._values: Mapping[str, Value] = details.get("ExpressionAttributeValues", {})
        self._item = item

    # --- conditions --------------------------------------------------------------------------------------------------

    def either(self) -> bool:
        found = self._all()
        while self._takes("OR"):
            found = self._all() or found
        return found

    def _all(self) -> bool:
        found = self._one()
        while self._takes("AND"):
            found = self._one() and found
        return found

    def _one(self) -> bool:
        if self._takes("NOT"):
            return not self._one()
        if self._takes("("):
            found = self.either()
            self._expect(")")
            return found
        if self._peek().lower() in _FUNCTIONS:
            return self._function()
        return self._comparison(self._operand())

    def _comparison(self, left: Value | None) -> bool:
        if self._takes("BETWEEN"):
            low = self._operand()
            self._expect("AND")
            return _compare(">=", left, low) & _compare("<=", left, self._operand())
        if self._takes("IN"):
            self._expect("(")
            found = _compare("=", left, self._operand())
            while self._takes(","):
                found |= _compare("=", left, self._operand())
            self._expect(")")
            return found
        sign = self._next()
        if sign not in _COMPARISONS:
            raise Unsupported(f"{sign!r} in {self._expression!r}")
        return _compare(sign, left, self._operand())

    def _function(self) -> bool:
        name = self._next().lower()
        self._expect("(")
        if name in ("attribute_exists", "attribute_not_exists"):
            present = self._path() in self._item
            self._expect(")")
            return present if name == "attribute_exists" else not present
        left = self._operand()
        self._expect(",")
        right = self._operand()
        self._expect(")")
        return _within(name, left, right)

    # --- updates -----------------------------------------------------------------------------------------------------

    def update(self) -> Item:
        changed: dict[str, Value | None] = {}
        while self._tokens:
            clause = self._next().upper()
            if clause not in _CLAUSES:
                raise Invalid(f"Invalid UpdateExpression: Syntax error; token: {clause!r}")
            self._change(clause, changed)
            while self._takes(","):
                self._change(clause, changed)
        after = {**self._item, **changed}
        return {name: value for name, value in after.items() if value is not None}

    def _change(self, clause: str, changed: dict[str, Value | None]) -> None:
        path = self._path()
        match clause:
            case "SET":
                self._expect("=")
                changed[path] = self._sum()
            case "REMOVE":
                changed[path] = None
            case "ADD":
                changed[path] = _sum(self._item.get(path, {"N": "0"}), self._operand(), 1)
            case _:
                raise Unsupported(f"{clause} in {self._expression!r}")

    def _sum(self) -> Value:
        total = self._present()
        while self._peek() in ("+", "-"):
            sign = 1 if self._next() == "+" else -1
            total = _sum(total, self._present(), sign)
        return total

    def _present(self) -> Value:
        if self._peek().lower() == "if_not_exists":
            self._next()
            self._expect("(")
            path = self._path()
            self._expect(",")
            default = self._operand()
            self._expect(")")
            value = self._item.get(path, default)
        else:
            value = self._operand()
        if value is None:
            raise Invalid("The provided expression refers to an attribute that does not exist in the item")
        return value

    # --- operands ----------------------------------------------------------------------------------------------------

    def _operand(self) -> Value | None:
        if self._peek().startswith(":"):
            name = self._next()
            if name not in self._values:
                raise Invalid(
                    f"An expression attribute value used in expression is not defined; attribute value: {name}"
                )
            return self._values[name]
        return self._item.get(self._path())

    def _path(self) -> str:
        name = self._next()
        if name.startswith("#"):
            if name not in self._names:
                raise Invalid(f"An expression attribute name used in the document path is not defined; name: {name}")
            name = self._names[name]
        elif not name or not (name[0].isalpha() or name[0] == "_"):
            raise Unsupported(f"{name!r} in {self._expression!r}")
        if self._peek() == "(":
            raise Unsupported(f"the function {name} in {self._expression!r}")
        return name

    # --- tokens ------------------------------------------------------------------------------------------------------

    def _peek(self) -> str:
        return self._tokens[0] if self._tokens else ""

    def _next(self) -> str:
        return self._tokens.pop(0) if self._tokens else ""

    def _takes(self, token: str) -> bool:
        if self._peek().upper() != token:
            return False
        self._next()
        return True

    def _expect(self, token: str) -> None:
        if not self._takes(token):
            raise Invalid(f"Syntax error in {self._expression!r}: {token!r} was expected, not {self._peek()!r}")

    def end(self) -> None:
        if self._tokens:
            raise Invalid(f"Syntax error in {self._expression!r}: {self._peek()!r} was not expected")


def _checked(match: re.Match[str], expression: str) -> str:
    if match[3]:  # a nested path, or what is no expression at all
        raise Unsupported(f"{match[3]!r} in {expression!r}")
    return match[1] or match[2]


def _compare(sign: str, left: Value | None, right: Value | None) -> bool:
    """Different types are different, and what is absent differs from everything; neither is less or more."""
    if left is None or right is None or left.keys() != right.keys():
        return sign == "<>"
    return _COMPARISONS[sign](_comparable(left), _comparable(right))


def _comparable(value: Value) -> Any:
    ((kind, content),) = value.items()
    return Decimal(content) if kind == "N" else content.encode() if kind == "S" else content


def _within(name: str, left: Value | None, right: Value | None) -> bool:
    if left is None or right is None or left.keys() != right.keys() or left.keys() & {"S", "B"} != left.keys():
        return False
    ((_, whole),), ((_, part),) = left.items(), right.items()
    return bool(whole.startswith(part) if name == "begins_with" else part in whole)


def _sum(left: Value | None, right: Value | None, sign: int) -> Value:
    if left is None or right is None or left.keys() != {"N"} or right.keys() != {"N"}:
        raise Invalid("An operand in the update expression has an incorrect data type: it is no number")
    total = Decimal(left["N"]) + sign * Decimal(right["N"])
    return {"N": f"{total.normalize():f}"}

"""CloudFormation's intrinsic functions over plain values.

What has no answer here (ImportValue, GetAZs, a macro) is a ConfigurationError that names it: a guess would test another
stack than the one that is deployed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from durable.errors import ConfigurationError

NO_VALUE = object()  # what !Ref AWS::NoValue stands for: the property is left out

_PLACEHOLDER = re.compile(r"\$\{(!?)([^}]+)\}")


class Unresolved(ConfigurationError):
    """A name that has no value: not a parameter, and not a resource that has been made."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f"the template refers to '{name}', which has no value here. "
            "It is no parameter, and no table, queue or function of the template."
        )


class Intrinsics:
    """Resolves values against names: `Table` is what !Ref gives, `Table.Arn` what !GetAtt gives."""

    def __init__(self, names: Mapping[str, Any], mappings: Mapping[str, Any], conditions: Mapping[str, Any]) -> None:
        self._names = names
        self._mappings = mappings
        self._conditions = conditions

    def resolve(self, value: Any) -> Any:
        """The value with every intrinsic in it replaced; what is AWS::NoValue is left out."""
        if isinstance(value, list):
            return [plain for item in value if (plain := self.resolve(item)) is not NO_VALUE]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            ((function, argument),) = value.items()
            if function in ("Ref", "Condition") or str(function).startswith("Fn::"):
                return self._apply(function, argument)
        return {key: plain for key, item in value.items() if (plain := self.resolve(item)) is not NO_VALUE}

    def holds(self, condition: str) -> bool:
        """Whether the template's condition of this name is true."""
        if condition not in self._conditions:
            raise ConfigurationError(f"the template has no condition '{condition}'.")
        return bool(self.resolve(self._conditions[condition]))

    def _apply(self, function: str, argument: Any) -> Any:
        match function:
            case "Ref":
                return self._name(argument)
            case "Condition" if isinstance(argument, str):
                return self.holds(argument)
            case "Condition":  # not the intrinsic: the conditions of a policy statement
                return {function: self.resolve(argument)}
            case "Fn::GetAtt":
                return self._name(argument if isinstance(argument, str) else ".".join(argument))
            case "Fn::Sub":
                return self._substitute(argument)
            case "Fn::If":
                condition, then, otherwise = argument
                return self.resolve(then if self.holds(condition) else otherwise)
            case "Fn::FindInMap":
                return self._find(*self.resolve(argument))
            case "Fn::Join":
                separator, parts = self.resolve(argument)
                return separator.join(map(str, parts))
            case "Fn::Select":
                index, choices = self.resolve(argument)
                return choices[int(index)]
            case "Fn::Split":
                separator, text = self.resolve(argument)
                return text.split(separator)
            case "Fn::Equals":
                left, right = self.resolve(argument)
                return str(left) == str(right)
            case "Fn::Not":
                return not self.resolve(argument)[0]
            case "Fn::And":
                return all(self.resolve(argument))
            case "Fn::Or":
                return any(self.resolve(argument))
            case _:
                raise ConfigurationError(
                    f"the template uses {function}, which durable.testing can't resolve. "
                    "Give what it stands for as a parameter, and override that in the test."
                )

    def _name(self, name: str) -> Any:
        if name == "AWS::NoValue":
            return NO_VALUE
        if name not in self._names:
            raise Unresolved(name)
        return self._names[name]

    def _substitute(self, argument: Any) -> str:
        text, local = (argument, {}) if isinstance(argument, str) else argument
        local = self.resolve(local)

        def value(placeholder: re.Match[str]) -> str:
            literal, name = placeholder.groups()
            if literal:  # ${!Name} is written as it stands
                return f"${{{name}}}"
            return str(local[name] if name in local else self._name(name))

        return _PLACEHOLDER.sub(value, text)

    def _find(self, table: str, row: Any, column: Any) -> Any:
        try:
            return self._mappings[table][str(row)][str(column)]
        except KeyError:
            raise ConfigurationError(f"the template's mapping '{table}' has no entry {row}/{column}.") from None

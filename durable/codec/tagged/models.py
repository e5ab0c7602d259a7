"""Pydantic models, without importing pydantic: a value's class brings what is needed of it."""

from __future__ import annotations

from typing import Any

import msgspec

from durable.codec.refusal import missing
from durable.errors import is_failure


def parts(model: Any) -> dict[str, Any]:
    """The model's fields, extra and private attributes, and the names of the fields that were set, if not all."""
    names = type(model).__pydantic_fields__
    found: dict[str, Any] = {"value": {name: model.__dict__[name] for name in names if name in model.__dict__}}
    if model.__pydantic_extra__:
        found["more"] = dict(model.__pydantic_extra__)
    if model.__pydantic_private__:
        found["private"] = dict(model.__pydantic_private__)
    given = model.__pydantic_fields_set__
    if not given.issuperset(found["value"]):
        found["set"] = [name for name in names if name in given]
    return found


def build(cls: Any, given: dict[str, Any]) -> Any:
    """A model of these parts, as pydantic's own copy and pickle support make one: no validator runs again."""
    recorded = given["value"]
    values: dict[str, Any] = {}
    for name, field in cls.__pydantic_fields__.items():
        if name in recorded:
            values[name] = recorded[name]
        elif field.is_required():
            raise missing(cls, name)
        else:
            values[name] = field.get_default(call_default_factory=True, validated_data=values)
    more = given.get("more", {})
    private = given.get("private", {})
    model = cls.__new__(cls)
    model.__setstate__(
        {
            "__dict__": values,
            "__pydantic_extra__": more if cls.model_config.get("extra") == "allow" else None,
            "__pydantic_private__": {**_private_defaults(cls), **private} if cls.__private_attributes__ else None,
            "__pydantic_fields_set__": set(given.get("set", recorded)) & values.keys() | set(more),
        }
    )
    return model


def _private_defaults(cls: Any) -> dict[str, Any]:
    return {
        name: attribute.get_default()
        for name, attribute in cls.__private_attributes__.items()
        if attribute.default_factory is not None or repr(attribute.default) != "PydanticUndefined"
    }


def own_parts(model: Any) -> dict[str, Any] | None:
    """The model by its own serialisers, for fields of types that only pydantic knows; None if that loses anything
    (a SecretStr is dumped as stars)."""
    try:
        dumped = model.model_dump(mode="json", round_trip=True, by_alias=True, warnings=False)
        own = {"json": dumped, "set": sorted(model.__pydantic_fields_set__)}
        return own if build_own(type(model), own) == model else None
    except BaseException as error:  # serialisers and validators are code of the user's
        if not is_failure(error):
            raise
        return None


def build_own(cls: Any, own: dict[str, Any]) -> Any:
    """A model from what its serialisers made, by its validators."""
    model = cls.model_validate_json(msgspec.json.encode(own["json"]))
    object.__setattr__(model, "__pydantic_fields_set__", set(own["set"]))
    return model

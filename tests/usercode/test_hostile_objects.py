"""Whatever an object of the user's does, describing and storing it raises nothing but what says that it can't be done."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from durable import CodecError, ErrorInfo, InvalidInput, StepFailed
from durable.codec import accept, check, decode, encode, fingerprint, plain
from durable.engine.recorded import ErrorRecord
from durable.usercode.failures import decisive, described, kind_of
from tests import hostile

pytestmark = pytest.mark.rule("D14")

many = settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck), database=None)
ANNOTATIONS: st.SearchStrategy[Any] = st.sampled_from(
    [
        Any,
        str,
        int,
        list[int],
        dict[str, Any],
        hostile.Detached,
        hostile.Refusing,
        hostile.Model,
        hostile.Odd,
        int | str,
    ]
)
NESTED: st.SearchStrategy[Any] = st.recursive(
    hostile.VALUE_RECIPES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)


def made(recipe: Any) -> Any:
    """The value of a recipe, or of containers of them."""
    match recipe:
        case list():
            return [made(each) for each in recipe]
        case dict():
            return {name: made(each) for name, each in recipe.items()}
        case _:
            return recipe.make()


@many
@given(hostile.ERROR_RECIPES, st.lists(hostile.RAISES, max_size=3))
def test_any_error_is_described_and_its_description_can_be_recorded(recipe: hostile.Recipe, others: list[int]) -> None:
    error = recipe.make()
    with suppress(BaseException):  # Python itself asks a member for its class
        error = BaseExceptionGroup("several", [error, *(hostile.RAISED[at]() for at in others)])
    chosen = decisive(error)
    info = described(chosen)
    kind = kind_of(chosen)

    assert type(info) is ErrorInfo
    assert kind in (None, "critical", "timeout", "exhausted", "rollback")
    stored = msgspec.json.encode(ErrorRecord.of(info))
    assert msgspec.json.decode(stored, type=ErrorRecord).info() == info
    assert len(stored) < 60_000


@pytest.mark.parametrize("name", list(hostile.ERRORS))
def test_the_ones_of_the_scenarios_are_described(name: str) -> None:
    info = described(decisive(hostile.ERRORS[name]()))

    assert msgspec.json.decode(msgspec.json.encode(ErrorRecord.of(info)), type=ErrorRecord).info() == info


@many
@given(NESTED, ANNOTATIONS)
def test_any_value_is_stored_or_refused(recipe: Any, annotation: Any) -> None:
    try:
        data = encode(made(recipe), annotation)
    except CodecError as refusal:
        assert (type(refusal.path), str(refusal)[:1]) == (str, "$")
        assert len(str(refusal)) < 3_000
    else:
        json.loads(data[1:])


@many
@given(NESTED)
def test_any_value_has_a_view_and_a_fingerprint_or_none(recipe: Any) -> None:
    value = made(recipe)
    json.dumps(plain(value), allow_nan=False).encode()
    assert type(fingerprint([value])) in (str, type(None))


@many
@given(NESTED, ANNOTATIONS)
def test_any_value_fits_or_does_not(recipe: Any, annotation: Any) -> None:
    try:
        check(made(recipe), annotation)
    except InvalidInput as misfit:
        str(misfit).encode()


@pytest.mark.parametrize("name", list(hostile.VALUES))
def test_the_values_of_the_scenarios_are_refused_with_a_readable_message(name: str) -> None:
    with pytest.raises(CodecError) as raised:
        encode(hostile.VALUES[name]())

    assert str(raised.value).encode()
    assert len(str(raised.value)) < 1_000


def test_a_class_that_refuses_to_be_made_again_can_not_be_read_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stored = b't{"amount":1}'
    monkeypatch.setattr(hostile, "made", True)

    with pytest.raises(CodecError, match=r"\$ can't be read back as Refusing: Panic: only once"):
        decode(stored, hostile.Refusing)
    with pytest.raises(InvalidInput, match="Panic: only once"):
        accept(b'{"amount":1}', hostile.Refusing)


def test_the_interrupt_of_a_user_at_the_keyboard_passes_through() -> None:
    class Keyboard(Exception):
        def __str__(self) -> str:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        described(Keyboard())


@pytest.mark.parametrize(
    "info",
    [
        ErrorInfo("T", "m", {"x": object(), "code": 1}),
        ErrorInfo("\ud800", "\ud800" * 10_000, {404: 1, "\ud800": "y" * 10_000}),  # type: ignore[dict-item]
        ErrorInfo("T", "m", None),
        ErrorInfo(None, 3, {}),
    ],
    ids=["object", "surrogates", "no details", "no text"],
)
def test_a_step_failed_that_a_body_made_itself_is_described(info: ErrorInfo) -> None:
    told = described(StepFailed("critical", "step", 1, info))

    assert msgspec.json.decode(msgspec.json.encode(ErrorRecord.of(told)), type=ErrorRecord).info() == told
    assert kind_of(StepFailed("critical", "step", 1, info)) == "critical"


def test_a_step_failed_of_the_library_s_own_is_described_as_it_is() -> None:
    info = ErrorInfo("Declined", "x" * 2_000 + "…", {"code": "stolen", "path": "$.a"})

    assert described(StepFailed("exhausted", "charge", 2, info)) == ErrorInfo(
        "Declined", info.message, {**info.details, "step": "charge", "kind": "exhausted", "attempts": 2}
    )

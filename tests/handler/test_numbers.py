"""What comes over HTTP is what would come from Python: every digit of a number, and one start for one input."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple, TypedDict

import msgspec
import pydantic
import pytest

from durable import Action, AlreadyStarted, Context, Queue, workflow
from durable.testing import Harness
from tests.handler.conftest import Ask

pytestmark = pytest.mark.rule("E10")

LONG = "12345678901234567890.10"
EXACT = Decimal(LONG)


@dataclass
class Line:
    sku: str
    total: Decimal


@dataclass
class Order:
    total: Decimal
    lines: list[Line] = field(default_factory=list)
    weight: float = 0.0


class Model(pydantic.BaseModel):
    total: Decimal


@dataclass
class Card:
    number: str


@dataclass
class Transfer:
    iban: str
    amount: Decimal = Decimal(0)


@workflow(state=dict)
def collect(ctx: Context) -> None:
    payment = ctx.queue.next("payment", "payments", body=Order, timeout=60)
    taken.append(payment.body)
    for message in ctx.queue.next_batch("more", ["orders", "models", "plain", "either"], count=1):
        taken.append(message.body)
    ctx.step("remember", lambda step: step.state.update(total=str(payment.body.total)))
    ctx.sleep("pause", 1)


taken: list[Any] = []


@collect.action(read_only=False)
def add(action: Action, order: Order, extra: Decimal = Decimal(0), model: Model | None = None) -> str:
    action.state["added"] = str(order.total)
    return f"{order.total} {order.lines} {order.weight!r} {extra} {model}"


@workflow
def take(ctx: Context, kind: str) -> None:
    body: Any = {
        "dict": dict[str, Decimal],
        "list": list[Decimal],
        "model": Model,
        "line": Line,
        "either": Card | Transfer,
        "decimal": Decimal,
        "float": float,
        "int": int,
        "plain": None,
    }[kind]
    taken.append(ctx.queue.next("wait", kind, body=body).body)


@pytest.fixture
def durable() -> Iterator[Harness]:
    taken.clear()
    with Harness(workflows=[collect, take, *STARTS]) as harness:
        yield harness


def test_a_message_s_numbers_are_read_by_the_type_that_the_workflow_asks_for(ask: Ask, durable: Harness) -> None:
    durable.start(collect, execution_id="one")
    body = f'{{"total": {LONG}, "lines": [{{"sku": "a", "total": {LONG}}}], "weight": 1}}'
    assert ask("POST", "/executions/one/queues/payments", body)[0] == 202
    durable.run(duration=1)

    (order,) = taken[-1:]
    assert order == Order(EXACT, [Line("a", EXACT)], 1.0)
    assert type(order.weight) is float


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("decimal", LONG, EXACT),
        ("decimal", "1.50", Decimal("1.50")),
        ("float", "1", 1.0),
        ("int", "12345678901234567890123", 12345678901234567890123),
        ("list", f"[{LONG}, 1.50]", [EXACT, Decimal("1.50")]),
        ("dict", f'{{"~": {LONG}}}', {"~": EXACT}),
        ("line", f'\n{{"sku": "a",\n "total": {LONG}}}\n', Line("a", EXACT)),
        ("model", f'{{"total": {LONG}}}', Model(total=EXACT)),
        ("either", f'{{"iban": "AT1", "amount": {LONG}}}', Transfer("AT1", EXACT)),
        ("plain", f'{{"total": {LONG}}}', {"total": float(LONG)}),
        ("plain", '{"~": "decimal", "value": "1.5"}', {"~": "decimal", "value": "1.5"}),
        ("plain", '[{"~": "object", "class": "os:system"}]', [{"~": "object", "class": "os:system"}]),
        ("plain", "null", None),
        ("list", "[" + ", ".join([LONG] * 9_000) + "]", [EXACT] * 9_000),
    ],
)
def test_whatever_the_type_is(ask: Ask, durable: Harness, kind: str, text: str, value: Any) -> None:
    execution = durable.start(take, kind)
    assert ask("POST", f"/executions/{execution.id}/queues/{kind}", text)[0] == 202
    durable.run()

    assert (execution.status, taken[-1], type(taken[-1])) == ("completed", value, type(value))


def test_a_message_that_does_not_fit_names_the_field_to_the_workflow(ask: Ask, durable: Harness) -> None:
    execution = durable.start(take, "line")
    ask("POST", f"/executions/{execution.id}/queues/line", '{"sku": 3, "total": 1}')
    durable.run()

    assert (execution.status, execution.error.type, execution.error.details["path"]) == (
        "failed",
        "InvalidInput",
        "$.sku",
    )


def test_an_action_s_arguments_are_read_by_their_types(ask: Ask, durable: Harness) -> None:
    durable.start(collect, execution_id="one")
    order = f'{{"total": {LONG}, "lines": [{{"sku": "a", "total": {LONG}}}], "weight": 2}}'
    body = f'{{"order": {order}, "extra": {LONG}, "model": {{"total": {LONG}}}}}'

    code, answer = ask("POST", "/executions/one/actions/add", body)

    assert (code, answer["result"]) == (
        200,
        f"{LONG} [Line(sku='a', total=Decimal('{LONG}'))] 2.0 {LONG} total=Decimal('{LONG}')",
    )
    assert durable.get(collect, "one").state == {"added": LONG}


def test_a_declared_queue_takes_from_python_what_it_takes_from_http(ask: Ask, durable: Harness) -> None:
    seen: list[Any] = []
    numbers = Queue("numbers", float)

    @workflow
    def two(ctx: Context) -> None:
        seen.extend(message.body for message in [ctx.queue.next("a", numbers), ctx.queue.next("b", numbers)])

    durable.deploy([two])
    execution = durable.start(two)
    ask("POST", f"/executions/{execution.id}/queues/numbers", "1")
    execution.send(numbers, 1)
    durable.run()

    assert [(value, type(value)) for value in seen] == [(1.0, float)] * 2


# --- one input is one start -------------------------------------------------------------------------------------------


@dataclass
class Measured:
    weight: float
    sizes: list[float] = field(default_factory=list)
    by_name: dict[str, float] = field(default_factory=dict)
    limit: float | None = None


@dataclass(frozen=True, slots=True)
class Frozen:
    inner: Measured
    pair: tuple[float, int] = (0.0, 0)


class Named(NamedTuple):
    x: float
    y: float = 0.0


class Typed(TypedDict):
    x: float


class Record(msgspec.Struct):
    x: float


class Weighed(pydantic.BaseModel):
    weight: float


def starting(annotation: Any, default: Any = ...) -> Any:
    name = f"start-{len(STARTS)}"

    def plain(ctx: Context, x: Any) -> Any:
        seen.append(x)

    def with_default(ctx: Context, x: Any = default) -> Any:
        seen.append(x)

    run = plain if default is ... else with_default
    run.__annotations__["x"] = annotation
    made = workflow(name=name)(run)
    STARTS.append(made)
    return made


seen: list[Any] = []
STARTS: list[Any] = []
SAME: list[tuple[Any, str, Any]] = [
    (starting(float), "1", 1),
    (starting(float), "1.0", 1),
    (starting(float), "1", 1.0),
    (starting(float | None), "1", 1),
    (starting(list[float]), "[1, 2.5]", [1, 2.5]),
    (starting(tuple[float, int]), "[1, 2]", (1, 2)),
    (starting(dict[str, float]), '{"a": 1}', {"a": 1}),
    (starting(dict[str, list[float]]), '{"a": [1]}', {"a": [1]}),
    (starting(set[float]), "[1]", {1}),
    (
        starting(Measured),
        '{"weight": 1, "sizes": [2], "by_name": {"a": 3}, "limit": 4}',
        Measured(1, [2], {"a": 3}, 4),
    ),
    (starting(Frozen), '{"inner": {"weight": 1}, "pair": [2, 3]}', Frozen(Measured(1), (2, 3))),
    (starting(Named), "[1, 2]", Named(1, 2)),
    (starting(Typed), '{"x": 1}', {"x": 1}),
    (starting(Record), '{"x": 1}', Record(1)),
    (starting(Weighed), '{"weight": 1}', Weighed(weight=1)),
    (starting(Decimal), "1.50", Decimal("1.50")),
    (starting(Any), "1", 1),
    (starting(int), "1", 1),
    (starting(int | float), "1", 1),
    (starting(float | int), "1", 1),
    (starting(Card | Transfer), '{"iban": "AT1", "amount": 1.50}', Transfer("AT1", Decimal("1.50"))),
    (starting(list[Card | Transfer]), '[{"number": "4"}]', [Card("4")]),
]


@pytest.mark.rule("E2")
@pytest.mark.parametrize("first", ["http", "python"])
@pytest.mark.parametrize(("started", "text", "value"), SAME, ids=lambda value: str(value)[:30])
def test_the_same_input_over_http_and_from_python_is_the_same_start(
    ask: Ask, durable: Harness, first: str, started: Any, text: str, value: Any
) -> None:
    seen.clear()

    def over_http() -> None:
        code, answer = ask("POST", f"/workflows/{started.name}/executions", text, headers={"idempotency-key": "one"})
        assert code == 202, answer

    def from_python() -> None:
        durable.start(started, value, execution_id="one")

    for start in (over_http, from_python) if first == "http" else (from_python, over_http):
        start()
    durable.run()

    assert len(seen) == 1
    with pytest.raises(AlreadyStarted):
        durable.start(started, other_than(value), execution_id="one")


def other_than(value: Any) -> Any:
    """Another value of the type."""
    match value:
        case float() | int() | Decimal():
            return value + 1
        case Measured():
            return Measured(99.0)
        case Frozen():
            return Frozen(Measured(99.0))
        case Record():
            return Record(99.0)
        case Weighed():
            return Weighed(weight=99.0)
        case Transfer():
            return Card("99")
        case Named():
            return Named(99.0)
        case dict():
            return {name: [] if isinstance(held, list) else 99.0 for name, held in value.items()}
        case tuple():
            return (99.0, 99)
        case _:
            return type(value)()


@pytest.mark.rule("E2")
def test_a_default_is_the_same_input_as_well(ask: Ask, durable: Harness) -> None:
    @workflow
    def weigh(ctx: Context, weight: float = 1) -> str:
        return repr(weight)

    durable.deploy([weigh])
    for body in (None, "1", "1.0"):
        code, _ = ask("POST", "/workflows/weigh/executions", body, headers={"idempotency-key": "one"})
        assert code == 202
    durable.start(weigh, execution_id="one")
    durable.start(weigh, 1, execution_id="one")
    durable.run()

    assert durable.get(weigh, "one").output == "1.0"


@pytest.mark.rule("S12")
def test_the_caller_s_own_object_is_left_as_it_is(durable: Harness) -> None:
    started, _, _ = SAME[9]
    given = Measured(1, [2], {"a": 3}, 4)
    durable.start(started, given)

    assert [type(value) for value in (given.weight, given.sizes[0], given.by_name["a"], given.limit)] == [int] * 4


@pytest.mark.parametrize("text", ['{"x": 1}', '{"number": "4", "iban": "5"}', "3", "[]"])
def test_what_fits_none_of_a_union_is_a_bad_request(ask: Ask, durable: Harness, text: str) -> None:
    started = SAME[-2][0]

    code, answer = ask("POST", f"/workflows/{started.name}/executions", text)

    assert (code, answer["error"], answer["field"]) == (400, "InvalidInput", "$")


def test_an_input_that_no_json_can_be_read_as_is_told_so(ask: Ask, durable: Harness) -> None:
    class Opaque:
        """No class with fields."""

    @workflow
    def odd(ctx: Context, given: Opaque) -> None:
        """Can't be started with JSON."""

    odd.run.__annotations__["given"] = Opaque
    durable.deploy([odd])
    code, answer = ask("POST", "/workflows/odd/executions", "{}")

    assert (code, answer["error"]) == (400, "InvalidInput")
    assert answer["message"].startswith("workflow 'odd' can't be started with JSON: no input can be read as")

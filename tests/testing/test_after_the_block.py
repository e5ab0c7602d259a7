"""What belongs to a harness works inside its `with` block alone: elsewhere it raises before a request is made."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import boto3
import pytest

from durable import Action, ConfigurationError, Context, DurableError, Queue, Step, workflow
from durable.testing import Harness

NUMBERS = Queue("numbers", body=int)
kept: dict[str, Any] = {}


def keep(step: Step) -> None:
    kept.update(step=step, client=step.client, make=boto3.client)


@workflow
def order(ctx: Context) -> int:
    ctx.step("keep", keep)
    return ctx.queue.next("number", NUMBERS).body


@order.action(read_only=True)
def seen(act: Action[Any]) -> str:
    return "seen"


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The requests that would have left the process."""
    sent: list[str] = []

    def send(session: object, request: Any) -> None:
        sent.append(request.url)
        raise OSError("this test has no network")

    monkeypatch.setattr("botocore.httpsession.URLLib3Session.send", send)
    return sent


@pytest.fixture(params=["moto", "local"])
def closed(network: list[str], request: pytest.FixtureRequest) -> Iterator[Harness]:
    """A harness whose block has ended, with an execution that waits for a message."""
    kept.clear()
    with Harness(workflows=[order], store=request.param) as durable:
        kept["execution"] = durable.start(order, execution_id="one")
        durable.run()
        kept["batch"] = _left_in_the_queue(durable)
    yield durable
    assert network == []


def _left_in_the_queue(durable: Harness) -> Any:
    kept["execution"].send(NUMBERS, 7)
    return durable.take()


USES: dict[str, Callable[[Harness], object]] = {
    "start": lambda durable: durable.start(order),
    "start_named": lambda durable: durable.start_named("order", None, execution_id="two"),
    "get": lambda durable: durable.get("one"),
    "run": lambda durable: durable.run(),
    "run for a while": lambda durable: durable.run(duration=60),
    "deliver_once": lambda durable: durable.deliver_once(),
    "take": lambda durable: durable.take(),
    "sweep": lambda durable: durable.sweep(),
    "invoke": lambda durable: durable.invoke("Worker", {"Records": []}),
    "deploy": lambda durable: durable.deploy([order]),
    "restart_processes": lambda durable: durable.restart_processes(),
    "the application's client": lambda durable: durable.application.client.start(order),
    "the sweeper": lambda durable: durable.application.sweeper.sweep(lambda: 60.0),
    "the store": lambda durable: durable.application.store.read("one"),
    "a received batch": lambda durable: kept["batch"].deliver(),
    "a received batch, lost": lambda durable: kept["batch"].lose(),
    "status": lambda durable: kept["execution"].status,
    "history": lambda durable: kept["execution"].history,
    "result": lambda durable: kept["execution"].result(wait=5),
    "send": lambda durable: kept["execution"].send(NUMBERS, 1),
    "cancel": lambda durable: kept["execution"].cancel(),
    "an action": lambda durable: kept["execution"].action(seen),
    "a step's client": lambda durable: kept["client"].start(order),
    "entering it again": lambda durable: durable.__enter__(),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_it_raises_when_the_block_has_ended(closed: Harness, use: Callable[[Harness], object]) -> None:
    with pytest.raises(DurableError, match=r"with Harness|`with` block|the running step"):
        use(closed)


def _first_page(pages: Any) -> Any:
    return next(iter(pages.paginate(TableName="durable-Table")))


BOTO3: dict[str, Callable[[], Callable[[], object]]] = {
    "a client": lambda: boto3.client("sqs").list_queues,
    "a resource": lambda: boto3.resource("dynamodb").Table("durable-Table").scan,
    "a paginator": lambda: partial(_first_page, boto3.client("dynamodb").get_paginator("scan")),
    "a client of a session": lambda: boto3.Session(region_name="us-east-1").client("s3").list_buckets,
}


@pytest.mark.parametrize("make", BOTO3.values(), ids=BOTO3)
@pytest.mark.parametrize("where", ["in the test", "in a body"])
def test_boto3_raises_when_the_block_has_ended(network: list[str], make: Any, where: str) -> None:
    @workflow
    def order(ctx: Context) -> None:
        ctx.step("make", lambda step: made.append(make()))

    made: list[Callable[[], object]] = []
    with Harness(workflows=[order], store="moto") as durable:
        if where == "in a body":
            durable.start(order)
            durable.run()
        else:
            made.append(make())
        made[0]()
    with pytest.raises(ConfigurationError, match="a boto3 client that was made inside a harness was used after"):
        made[0]()

    assert network == []


@pytest.mark.parametrize("use", list(USES.values())[:11], ids=list(USES)[:11])
def test_it_raises_before_the_block(network: list[str], use: Callable[[Harness], object]) -> None:
    with pytest.raises(ConfigurationError, match="with Harness"):
        use(Harness(workflows=[order]))

    assert network == []


@pytest.mark.parametrize("use", [USES[name] for name in ("start", "run", "status", "cancel", "a received batch")])
def test_it_raises_while_another_harness_is_open(closed: Harness, use: Callable[[Harness], object]) -> None:
    with Harness(workflows=[order]) as other:
        execution = other.start(order, execution_id="one")
        with pytest.raises(ConfigurationError, match="with Harness"):
            use(closed)

        assert (execution.status, other.invocations) == ("pending", [])


def test_a_thread_that_outlives_the_block_is_refused(network: list[str]) -> None:
    ended, outcome = threading.Event(), list[Exception]()

    def go_on(client: Any) -> None:
        ended.wait(10)
        for call in (lambda: client.start(order), boto3_client.list_queues):
            try:
                call()
            except DurableError as error:
                outcome.append(error)

    with Harness(workflows=[order], store="moto") as durable:
        boto3_client = boto3.client("sqs")
        thread = threading.Thread(target=go_on, args=(durable.application.client,))
        thread.start()
    ended.set()
    thread.join()

    assert [type(error).__name__ for error in outcome] == ["HarnessClosed"] * 2
    assert network == []


def test_what_happened_can_still_be_looked_at(closed: Harness) -> None:
    assert [invocation.function for invocation in closed.invocations] == ["Worker"] * 2
    assert len(closed.calls) > 0
    assert closed.faults.bodies == ["keep"]


def test_a_block_that_raises_ends_the_harness_too(network: list[str]) -> None:
    with pytest.raises(ZeroDivisionError), Harness(workflows=[order]) as durable:
        raise ZeroDivisionError
    with pytest.raises(ConfigurationError, match="with Harness"):
        durable.start(order)
    with Harness(workflows=[order]) as another:
        assert another.start(order).status == "pending"


def test_a_harness_that_could_not_be_entered_leaves_nothing_open() -> None:
    with (
        pytest.raises(DurableError, match="'order'"),
        Harness(workflows=[order, workflow(name="order")(lambda ctx: None)]),
    ):
        pass
    with Harness(workflows=[order]) as durable:
        assert durable.start(order).status == "pending"


def test_two_harnesses_at_once_are_refused_and_the_first_goes_on() -> None:
    with Harness(workflows=[order]) as durable:
        execution = durable.start(order)
        with pytest.raises(ConfigurationError, match="another harness is open"), Harness(workflows=[order]):
            pass

        durable.run()
        assert execution.status == "waiting"


@pytest.mark.parametrize("make", BOTO3.values(), ids=BOTO3)
def test_no_call_of_boto3_leaves_a_harness_over_the_local_store(
    network: list[str], monkeypatch: pytest.MonkeyPatch, make: Any
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "mine")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    before = make()
    with Harness(workflows=[order], store="local"):
        for call in (before, made := make()):
            with pytest.raises(ConfigurationError, match="the local store answers no calls of boto3"):
                call()
    with pytest.raises(ConfigurationError, match="a boto3 client that was made inside a harness was used after"):
        made()

    assert network == []


def test_a_client_of_before_the_harness_is_answered_by_the_emulator_inside_and_is_free_after_it() -> None:
    code = """
import boto3
from botocore.httpsession import URLLib3Session

client = boto3.client("sqs", region_name="us-east-1", aws_access_key_id="mine", aws_secret_access_key="mine")

from durable.testing import Harness

def send(session, request):
    raise SystemExit("the network")

URLLib3Session.send = send
with Harness(workflows=[], store="moto") as durable:
    print(len(client.list_queues()["QueueUrls"]), durable.calls[-1].operation)
client.list_queues()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (done.stdout, done.stderr) == ("4 ListQueues\n", "the network\n")

"""How the application is put together: from the environment, and from the modules of handler/workflows/."""

from __future__ import annotations

import sys
from importlib import import_module, invalidate_caches
from pathlib import Path
from types import ModuleType

import pytest

from durable import ConfigurationError, DuplicateWorkflow
from durable.aws.scheduler import Schedules
from durable.functions import wiring
from durable.functions.configuration import Configuration, Transport
from durable.functions.discovery import discovered
from durable.runtime.invocation.budget import Settings
from durable.testing.harness import Harness
from tests.handler.workflows import WORKFLOWS, ping

COMPLETE = {
    "DURABLE_WORKFLOWS": "handler.workflows",
    "DURABLE_TABLE": "orders",
    "DURABLE_QUEUE": "https://sqs.eu-west-1.amazonaws.com/123456789012/continuations",
    "DURABLE_REJECTED_QUEUE": "https://sqs.eu-west-1.amazonaws.com/123456789012/rejected",
    "AWS_REGION": "eu-west-1",
}


def test_the_environment_of_the_template_is_enough() -> None:
    with Harness(workflows=[], transport="sqs") as durable:
        environment, queues = durable.stack.environment("Worker"), durable.stack.queues
    assert Configuration.read(environment) == Configuration(
        table="durable-Table",
        queue_url=queues["ContinuationQueue"].url,
        rejected_url=queues["RejectedQueue"].url,
        settings=Settings(steps=1, seconds=None, inline_wait=1.0, drift="off"),
        service="durable",
        namespace="Durable",
        transport=Transport.SQS,
        bus="durable",
        schedules=Schedules(
            group="durable",
            role="arn:aws:iam::123456789012:role/durable-ScheduleRole",
            queue=queues["ContinuationQueue"].arn,
            rejected=queues["RejectedQueue"].arn,
        ),
        bucket="durable-payloadbucket",
        workflows=("handler.workflows",),
    )


def test_every_setting_is_read() -> None:
    settings = {
        "DURABLE_STEPS": "20",
        "DURABLE_SECONDS": "2.5",
        "DURABLE_INLINE_WAIT": "0",
        "DURABLE_DRIFT": "error",
        "POWERTOOLS_SERVICE_NAME": "shop",
        "POWERTOOLS_METRICS_NAMESPACE": "Shop",
    }
    read = Configuration.read({**COMPLETE, **settings})
    assert read.settings == Settings(steps=20, seconds=2.5, inline_wait=0.0, drift="error")
    assert (read.service, read.namespace) == ("shop", "Shop")


def test_everything_that_is_missing_or_wrong_is_named_at_once() -> None:
    environment = {
        "DURABLE_QUEUE": "",
        "DURABLE_STEPS": "0",
        "DURABLE_SECONDS": "soon",
        "DURABLE_INLINE_WAIT": "-1",
        "DURABLE_DRIFT": "maybe",
    }
    with pytest.raises(ConfigurationError) as raised:
        wiring.build(environment)
    assert str(raised.value) == (
        "the function's environment is incomplete; missing: DURABLE_TABLE (the table's name), "
        "DURABLE_QUEUE (the URL of the queue of continuations), "
        "DURABLE_REJECTED_QUEUE (the URL of the queue for messages that no code can handle); "
        "DURABLE_STEPS is a whole number from 1, not '0'; "
        "DURABLE_SECONDS is a number of seconds, or empty, not 'soon'; "
        "DURABLE_INLINE_WAIT is a number of seconds, not '-1'; "
        "DURABLE_DRIFT is off, warn or error, not 'maybe'. template.yaml sets all of it."
    )


def test_a_bus_schedules_and_a_bucket_are_there_or_not() -> None:
    read = Configuration.read(COMPLETE)
    assert (read.transport, read.bus, read.schedules, read.bucket) == (Transport.SQS, "", None, "")


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        ({"DURABLE_TRANSPORT": "kafka"}, "DURABLE_TRANSPORT is sqs or eventbridge, not 'kafka'"),
        (
            {"DURABLE_TRANSPORT": "eventbridge"},
            "DURABLE_TRANSPORT is eventbridge, and DURABLE_BUS (the name of the event bus) is missing",
        ),
        (
            {"DURABLE_SCHEDULE_GROUP": "durable"},
            "DURABLE_SCHEDULE_GROUP set without DURABLE_SCHEDULE_ROLE (the ARN of the role with which the scheduler "
            "sends), DURABLE_QUEUE_ARN (the ARN of the queue of continuations): long waits need all three, or none",
        ),
        (
            {"DURABLE_SCHEDULE_ROLE": "arn:role", "DURABLE_QUEUE_ARN": "arn:queue"},
            "DURABLE_SCHEDULE_ROLE, DURABLE_QUEUE_ARN set without DURABLE_SCHEDULE_GROUP (the name of the group of "
            "schedules): long waits need all three, or none",
        ),
    ],
)
def test_what_is_set_by_half_is_said(environment: dict[str, str], reason: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        Configuration.read({**COMPLETE, **environment})
    assert str(raised.value) == f"the function's environment is incomplete; {reason}. template.yaml sets all of it."


@pytest.mark.parametrize("value", ["nan", "inf", "1e999"])
def test_a_number_of_seconds_is_finite(value: str) -> None:
    with pytest.raises(ConfigurationError, match="DURABLE_SECONDS is a number of seconds"):
        Configuration.read({**COMPLETE, "DURABLE_SECONDS": value})


def test_the_application_of_a_process_is_built_from_its_environment_when_it_is_first_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wiring.install(None)
    for name, value in COMPLETE.items():
        monkeypatch.setenv(name, value)
    built = wiring.application()
    assert wiring.application() is built
    assert built.registry.names() == sorted({each.name for each in discovered(["handler.workflows"])})
    wiring.install(None)
    assert wiring.application() is not built
    wiring.install(None)


def test_a_built_application_has_made_no_client_and_no_call() -> None:
    application = wiring.build(COMPLETE, WORKFLOWS)
    assert application.registry.names() == ["checkout", "ping"]


# --- discovery -------------------------------------------------------------------------------------------------------


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """An empty package of workflows, in which tests write modules."""
    folder = tmp_path / "shop_workflows"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.startswith("shop_workflows")]:
        monkeypatch.delitem(sys.modules, name)
    return import_module("shop_workflows")


def write(package: ModuleType, name: str, text: str) -> None:
    file = Path(package.__path__[0]) / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    invalidate_caches()


WORKFLOW = """
from durable import Context, workflow

@workflow(name="{name}", version={version})
def flow(ctx: Context) -> None: ...
"""


def test_every_workflow_in_every_module_is_found(package: ModuleType) -> None:
    write(package, "orders.py", WORKFLOW.format(name="order", version=1))
    write(package, "orders_v2.py", WORKFLOW.format(name="order", version=2))
    write(package, "eu/__init__.py", "")
    write(package, "eu/refunds.py", WORKFLOW.format(name="refund", version=1))
    write(package, "constants.py", "LIMIT = 3")
    found = discovered([package.__name__])
    assert [(each.name, each.version) for each in found] == [("refund", 1), ("order", 1), ("order", 2)]


def test_a_workflow_that_a_package_exports_again_is_one(package: ModuleType) -> None:
    write(package, "orders.py", WORKFLOW.format(name="order", version=1))
    write(package, "eu/__init__.py", "from shop_workflows.orders import flow")
    assert [each.name for each in discovered([package.__name__, "shop_workflows.orders"])] == ["order"]


@pytest.mark.parametrize("names", [[], ["shop_workflows"], ["shop_workflow"], ["shop_workflows.ordres"]])
def test_names_without_a_workflow_are_refused_with_the_remedy(package: ModuleType, names: list[str]) -> None:
    with pytest.raises(ConfigurationError, match="DURABLE_WORKFLOWS names"):
        discovered(names)


def test_what_a_module_of_workflows_fails_to_import_is_raised_as_it_is(package: ModuleType) -> None:
    write(package, "orders.py", "import no_such_package")
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        discovered(["shop_workflows.orders"])


def test_the_projects_own_workflows_are_found() -> None:
    assert [f"{each.name} {each.version}" for each in discovered(["handler.workflows"])] == [
        "agent 1",
        "training 1",
        "approval 1",
        "purchase 1",
        "export 1",
        "payment 1",
        "account 1",
        "place_order 1",
        "subscription 1",
        "subscription 2",
        "transfer 1",
    ]


def test_two_workflows_of_one_name_and_version_are_refused_and_both_files_named(package: ModuleType) -> None:
    write(package, "orders.py", WORKFLOW.format(name="order", version=1))
    write(package, "copied.py", WORKFLOW.format(name="order", version=1))
    with pytest.raises(DuplicateWorkflow, match=r"'order' version 1: .*copied\.py:\d+ and .*orders\.py:\d+\. Rename"):
        wiring.build(COMPLETE, discovered([package.__name__]))


def test_a_workflow_that_another_module_imports_is_one(package: ModuleType) -> None:
    write(package, "orders.py", WORKFLOW.format(name="order", version=1))
    write(package, "shop.py", "from shop_workflows.orders import flow")
    assert wiring.build(COMPLETE, discovered([package.__name__])).registry.names() == ["order"]


def test_a_module_that_can_not_be_imported_is_not_passed_over(package: ModuleType) -> None:
    write(package, "broken.py", "import no_such_module")
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        discovered([package.__name__])


def test_a_workflow_can_be_given_instead() -> None:
    assert wiring.build(COMPLETE, [ping]).registry.names() == ["ping"]

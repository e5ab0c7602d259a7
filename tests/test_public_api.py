"""The public surface: what `durable` offers, what it costs to import, and that it says what it is."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib.resources import files

import pytest

import durable
import durable.testing

NAMES = [
    "Action",
    "ActionFunction",
    "ActionNotFound",
    "AlreadyStarted",
    "Break",
    "Client",
    "CodecError",
    "ConfigurationError",
    "Context",
    "Continue",
    "DuplicateWorkflow",
    "DurableError",
    "ErrorInfo",
    "Execution",
    "ExecutionBusy",
    "ExecutionFailed",
    "ExecutionNotFound",
    "Failure",
    "HistoryDiverged",
    "HistoryEntry",
    "InvalidCall",
    "InvalidInput",
    "InvalidName",
    "InvalidState",
    "Kind",
    "Message",
    "NestedStep",
    "Queue",
    "QueueTimeout",
    "Retry",
    "RollbackError",
    "RollbackOutcome",
    "Step",
    "StepFailed",
    "StepOnly",
    "StoreError",
    "Success",
    "SuspensionSwallowed",
    "TerminalError",
    "Undo",
    "Workflow",
    "WorkflowNotFound",
    "WrongThread",
    "connect",
    "workflow",
]
AWS = ("boto3", "botocore", "pynamodb", "aws_lambda_powertools", "moto")
TYPES = {"Kind"}  # an alias of a type has no docstring of its own
PUBLIC = [(durable, name) for name in NAMES] + [(durable.testing, name) for name in durable.testing.__all__]


def test_what_is_public_is_listed_here_and_sorted() -> None:
    assert durable.__all__ == NAMES == sorted(NAMES)
    assert durable.testing.__all__ == ["Call", "Harness", "ProcessDied"]


def test_nothing_else_is_public() -> None:
    others = {
        name
        for name, value in vars(durable).items()
        if not name.startswith("_") and not inspect.ismodule(value) and name not in NAMES
    }
    assert others <= {"annotations", "Any"}


@pytest.mark.parametrize("package", ["durable", "handler.workflows.transfer"])
def test_importing_a_workflow_loads_no_aws_package(package: str) -> None:
    code = f"import sys, {package}; print(sorted({{name.partition('.')[0] for name in sys.modules}} & {set(AWS)!r}))"

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize(("module", "name"), [pair for pair in PUBLIC if pair[1] not in TYPES], ids=str)
def test_everything_public_says_what_it_is(module: object, name: str) -> None:
    thing = getattr(module, name)
    assert own_doc(thing), f"{name} has no docstring"
    silent = [member for member, value in members(thing) if not own_doc(value)]
    assert silent == []


def own_doc(thing: object) -> str | None:
    """The docstring that was written for it, and not one that a dataclass or a base class makes up."""
    text = getattr(thing, "__doc__", None)
    name = getattr(thing, "__name__", "")
    return None if text is None or text.startswith(f"{name}(") else text


def members(thing: object) -> list[tuple[str, object]]:
    """The public methods and properties of a class that are defined in this project."""
    if not inspect.isclass(thing):
        return []
    return [
        (name, value)
        for owner in thing.__mro__
        if owner.__module__.startswith("durable")
        for name, value in vars(owner).items()
        if not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, property))
    ]


def test_the_types_are_for_others_too() -> None:
    assert files("durable").joinpath("py.typed").is_file()

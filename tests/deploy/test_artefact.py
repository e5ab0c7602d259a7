"""What `sam build` makes, without a container: what a deployment uploads, and no more."""

from __future__ import annotations

from pathlib import Path

import pytest

from durable.testing.template import FUNCTION
from infra.local.artefact import LAYER, ROOT, Artefact

pytestmark = pytest.mark.deploy

KILOBYTE = 1024
FUNCTION_MOST = 1024 * KILOBYTE  # the files themselves; what is on disk is rounded up to blocks
LAYER_MOST = 36 * 1024 * KILOBYTE  # of Lambda's 250 MB; botocore's descriptions of AWS's services are 30 MB of it
PACKAGES = {
    "aws_lambda_powertools",
    "boto3",
    "botocore",
    "dateutil",
    "jmespath",
    "msgspec",
    "pynamodb",
    "s3transfer",
    "six.py",
    "typing_extensions.py",
    "urllib3",
}


def files(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file()]


def size(folder: Path) -> int:
    return sum(file.stat().st_size for file in files(folder))


def test_a_function_is_its_handlers_and_the_library_and_small(built: Artefact) -> None:
    for function in built.functions():
        code = built.code(function)
        assert {entry.name for entry in code.iterdir()} == {"durable", "handler"}
        assert size(code) < FUNCTION_MOST, function
        assert all(file.suffix in (".py", ".typed") for file in files(code)), function


def test_a_function_has_nothing_that_only_tests_or_callers_need(built: Artefact) -> None:
    for function in built.functions():
        code = built.code(function)
        assert not (code / "durable" / "testing").exists()
        assert not (code / "durable" / "cli").exists()
        named = [file for file in files(code) if "moto" in file.read_text() or "pytest" in file.name]
        assert named == []


def test_a_function_has_all_of_the_rest_of_the_library(built: Artefact) -> None:
    left_out = {"testing", "cli"}
    library = {
        file.relative_to(ROOT)
        for package in ("durable", "handler")
        for file in (ROOT / package).rglob("*.py")
        if file.relative_to(ROOT).parts[1] not in left_out
    }
    for function in built.functions():
        assert {file.relative_to(built.code(function)) for file in built.code(function).rglob("*.py")} == library


def test_the_layer_is_what_the_functions_import_for_every_runtime_and_processor(built: Artefact) -> None:
    found = {entry.name for entry in built.packages.iterdir() if not entry.name.endswith(".dist-info")}
    assert found == PACKAGES
    assert size(built.folder / LAYER) < LAYER_MOST
    compiled = {file.name for file in files(built.packages) if file.suffix == ".so"}
    assert compiled == {
        f"_core.cpython-{python}-{processor}-linux-gnu.so"
        for python in ("311", "312", "313", "314")
        for processor in ("x86_64", "aarch64")
    }


def test_the_built_template_has_the_functions_of_the_project(built: Artefact) -> None:
    for function in built.template().resources(FUNCTION):
        assert function.properties["CodeUri"] == function.id

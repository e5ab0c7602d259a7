"""What `sam build` makes, without a container: what a deployment uploads, and no more."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from subprocess import DEVNULL, call, run

import pytest

from durable.testing.template.template import FUNCTION
from infra.local.artefact import LAYER, ROOT, Artefact

pytestmark = pytest.mark.deploy

RUNTIMES = ("311", "312", "313", "314")
KILOBYTE = 1024
FUNCTION_MOST = 1024 * KILOBYTE  # the sources themselves; what is on disk is rounded up to blocks
LAYER_MOST = 44 * 1024 * KILOBYTE  # of Lambda's 250 MB; 30 MB are botocore's descriptions of services, 11 MB greenlet
BYTECODE_MOST = 2  # times the sources, for each runtime
NEVER_CHECKED = 0b01.to_bytes(4, "little")  # how a file of bytecode says that it goes with its source (PEP 552)
PACKAGES = {
    "aws_lambda_powertools",
    "boto3",
    "botocore",
    "dateutil",
    "greenlet",
    "jmespath",
    "msgspec",
    "pynamodb",
    "s3transfer",
    "six.py",
    "typing_extensions.py",
    "urllib3",
}


def files(folder: Path) -> list[Path]:
    """All but the bytecode."""
    return [file for file in folder.rglob("*") if file.is_file() and file.suffix != ".pyc"]


def size(folder: Path) -> int:
    return sum(file.stat().st_size for file in files(folder))


def compiled(folder: Path, runtime: str) -> dict[Path, Path]:
    """The bytecode for a runtime, by its source."""
    return {
        file.parents[1] / file.name.replace(f".cpython-{runtime}.pyc", ".py"): file
        for file in folder.rglob(f"*.cpython-{runtime}.pyc")
    }


def is_here(runtime: str) -> bool:
    """Whether there is a Python that compiles for it."""
    try:
        return call([f"python{runtime[0]}.{runtime[1:]}", "-c", ""], stderr=DEVNULL) == 0
    except OSError:
        return False


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
        assert not (code / "durable" / "local").exists()
        assert not (code / "durable" / "cli").exists()
        named = [file for file in files(code) if "moto" in file.read_text() or "pytest" in file.name]
        assert named == []


def test_a_function_has_all_of_the_rest_of_the_library(built: Artefact) -> None:
    left_out = {"testing", "local", "cli"}
    library = {
        file.relative_to(ROOT)
        for package in ("durable", "handler")
        for file in (ROOT / package).rglob("*.py")
        if file.relative_to(ROOT).parts[1] not in left_out
    }
    for function in built.functions():
        assert {file.relative_to(built.code(function)) for file in built.code(function).rglob("*.py")} == library


def test_the_layer_is_what_the_functions_import_for_every_runtime_and_processor(built: Artefact) -> None:
    found = {entry.name for entry in built.packages.iterdir() if entry.suffix != ".dist-info"}
    assert found - {"__pycache__"} == PACKAGES
    assert size(built.folder / LAYER) < LAYER_MOST
    machine_code = {file.name for file in files(built.packages) if file.suffix == ".so"}
    assert machine_code == {
        f"{module}.cpython-{runtime}-{processor}-linux-gnu.so"
        for module in ("_core", "_greenlet")
        for runtime in RUNTIMES
        for processor in ("x86_64", "aarch64")
    }


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_every_source_has_bytecode_if_the_python_of_the_runtime_is_here(built: Artefact, runtime: str) -> None:
    for folder in (built.packages, *map(built.code, built.functions())):
        bytecode = compiled(folder, runtime)
        sources = {file for file in files(folder) if file.suffix == ".py"}
        assert bytecode.keys() == (sources if is_here(runtime) else set())
        assert sum(file.stat().st_size for file in bytecode.values()) < BYTECODE_MOST * size(folder)
        assert {file.read_bytes()[4:8] for file in bytecode.values()} <= {NEVER_CHECKED}


def test_a_cold_start_compiles_nothing_where_there_is_bytecode_for_its_python(built: Artefact, tmp_path: Path) -> None:
    task, packages = tmp_path / "task", tmp_path / "python"
    for copied, folder in ((built.code("Worker"), task), (built.packages, packages)):
        shutil.copytree(copied, folder)
        for source in folder.rglob("*.py"):
            source.write_text("this is not Python")
    environment = {"PYTHONPATH": f"{task}:{packages}"}

    status = call(
        [sys.executable, "-c", "import handler.worker, pynamodb.models"], env=environment, cwd=task, stderr=DEVNULL
    )
    assert (status == 0) is is_here(f"{sys.version_info.major}{sys.version_info.minor}")


def test_the_same_source_makes_the_same_bytes(built: Artefact, tmp_path: Path) -> None:
    again = tmp_path / "another folder"
    run(["make", "build-Worker", f"ARTIFACTS_DIR={again}"], cwd=ROOT, check=True, capture_output=True)

    made = {file.relative_to(again): file.read_bytes() for file in again.rglob("*") if file.is_file()}
    worker = built.code("Worker")
    assert made == {file.relative_to(worker): file.read_bytes() for file in worker.rglob("*") if file.is_file()}


def test_the_built_template_has_the_functions_of_the_project(built: Artefact) -> None:
    for function in built.template().resources(FUNCTION):
        assert function.properties["CodeUri"] == function.id

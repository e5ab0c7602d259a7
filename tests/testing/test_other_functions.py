"""A template may have functions of its own beside the library's: the harness finds the library's wherever they are."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from durable import ConfigurationError, Context, workflow
from durable.testing import Harness
from durable.testing.template.template import Template

ROOT = Path(__file__).parents[2]
FOREIGN: dict[str, dict[str, Any]] = {
    "of another package": {"Handler": "reports_of_mine.daily.handler", "Runtime": "python3.13"},
    "of a module without a package": {"Handler": "lonely_report.handler", "Runtime": "python3.13"},
    "that is not there": {"Handler": "nowhere.to.be.found", "Runtime": "python3.13"},
    "that can't be imported": {"Handler": "reports_of_mine.broken.handler", "Runtime": "python3.13"},
    "that reads an environment of its own": {"Handler": "reports_of_mine.settings.handler", "Runtime": "python3.13"},
    "of another language": {"Handler": "index.handler", "Runtime": "nodejs22.x"},
    "in an image": {"PackageType": "Image", "ImageUri": "reports:1"},
}


@workflow
def order(ctx: Context) -> str:
    return ctx.step("take", lambda step: "taken")


@pytest.fixture
def beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, dict[str, Any]], bool], Path]:
    """Writes a template with these functions first, then the library's, or without the library's."""
    for module in [name for name in sys.modules if name.startswith(("reports_of_mine", "lonely_report"))]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(sys, "path", [*sys.path])
    package = tmp_path / "reports_of_mine"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "wiring.py").write_text("cables = 3\n")
    (package / "daily.py").write_text("def handler(event, context): ...\n")
    (package / "broken.py").write_text("import a_package_that_nobody_has\n")
    (package / "settings.py").write_text("import os\nBUCKET = os.environ['REPORTS']\n")
    (tmp_path / "lonely_report.py").write_text("def handler(event, context): ...\n")

    def write(functions: dict[str, dict[str, Any]], library: bool) -> Path:
        document: dict[str, Any] = dict(Template.load(ROOT / "template.yaml").document)
        ours = document["Resources"] if library else {}
        if not library:
            del document["Globals"]  # which names the library's tables and queues
        foreign = {name: {"Type": "AWS::Serverless::Function", "Properties": each} for name, each in functions.items()}
        document["Resources"] = foreign | ours
        path = tmp_path / "template.yaml"
        path.write_text(yaml.safe_dump(document, sort_keys=False))
        return path

    return write


@pytest.mark.parametrize("function", FOREIGN.values(), ids=FOREIGN)
def test_a_function_of_mine_may_come_first(
    beside: Callable[[dict[str, dict[str, Any]], bool], Path], function: dict[str, Any]
) -> None:
    with Harness(workflows=[order], template=beside({"Report": function}, True)) as durable:
        execution = durable.start(order)
        durable.run()

        assert execution.output == "taken"


def test_where_no_function_is_the_librarys_each_is_named_with_what_it_is(
    beside: Callable[[dict[str, dict[str, Any]], bool], Path],
) -> None:
    functions = {f"F{number}": function for number, function in enumerate(FOREIGN.values())}
    with Harness(workflows=[order], template=beside(functions, False)) as durable:
        for use in (lambda: durable.start(order), lambda: durable.get("one")):
            with pytest.raises(ConfigurationError) as refused:
                use()
            message = str(refused.value)
            assert "handler of durable.functions, or a module `wiring` beside the handler" in message
            assert "F0 (reports_of_mine.daily.handler): its handler is of reports_of_mine.daily" in message
            assert "F2 (nowhere.to.be.found): there is no module nowhere.to" in message
            assert "F3 (reports_of_mine.broken.handler): ModuleNotFoundError: No module named 'a_package" in message
            assert "F4 (reports_of_mine.settings.handler): KeyError: 'REPORTS'" in message
            assert "F6 (no Handler): its handler is not named in the template" in message


def test_a_name_that_a_harness_does_not_have_is_an_attribute_error() -> None:
    with Harness(workflows=[order]) as durable:
        assert not hasattr(durable, "strat")
        with pytest.raises(AttributeError, match="'strat'"):
            _ = durable.strat

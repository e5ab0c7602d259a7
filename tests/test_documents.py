"""The documents are true as far as a machine can tell: links, commands, code that compiles and runs, nothing private."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from durable.protocol.head import Head
from durable.testing.template.template import Template

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
PRIVATE = re.compile(  # a machine's folders, and where its packages come from
    r"/work/|/tmp/|/root/|/home/\w|(?<!no-emit-)index-url|files\.pythonhosted|\bshared/"
)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, whether it stands alone, its text and the line that it begins at."""

    page: Path
    language: str
    fragment: bool
    text: str
    line: int


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for match in FENCE.finditer(text):
        language, _, rest = match[1].partition(" ")
        yield Block(page, language, rest == "fragment", match[2], text[: match.start(2)].count("\n"))


@cache
def program(page: Path) -> ModuleType | None:
    """The page as a module: its Python blocks that are not fragments, one after the other, on their own lines."""
    source = ""
    for block in blocks(page):
        if block.language == "python" and not block.fragment:
            source += "\n" * (block.line - source.count("\n")) + block.text
    if not source:
        return None
    module = ModuleType(f"page_{page.stem.lower()}")
    sys.modules[module.__name__] = module  # classes in stored values are found by their module
    exec(compile(source, str(page), "exec", dont_inherit=True), vars(module))
    return module


def shown_tests() -> Iterator[Callable[[], None]]:
    for page in PAGES:
        module = program(page)
        for name, value in vars(module).items() if module else ():
            if name.startswith("test_") and callable(value):
                yield pytest.param(value, id=f"{named(page)}-{name}")


def in_order(page: Path) -> list[Block]:
    return [block for block in blocks(page) if block.language == "python"]


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_the_code_of_a_page_compiles(page: Path) -> None:
    for block in in_order(page):
        compile("\n" * block.line + block.text, str(page), "exec", dont_inherit=True)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_the_code_of_a_page_is_a_program(page: Path) -> None:
    program(page)


@pytest.mark.parametrize("test", list(shown_tests()))
def test_a_test_that_a_page_shows_passes(test: Callable[[], None]) -> None:
    test()


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_link_leads_somewhere(page: Path) -> None:
    broken = [link for link in links(page) if not leads_somewhere(page, link)]
    assert broken == []


def links(page: Path) -> list[str]:
    return LINK.findall(FENCE.sub("", page.read_text()))


def leads_somewhere(page: Path, link: str) -> bool:
    if link.startswith("https://"):
        return True
    target, _, heading = link.partition("#")
    file = page if not target else (page.parent / target).resolve()
    return file.exists() and (not heading or heading in headings(file))


def headings(page: Path) -> set[str]:
    """The anchors that GitHub makes of a page's headings."""
    titles = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def targets() -> set[str]:
    text = "".join((ROOT / name).read_text() for name in ("Makefile", "infra/sam.mk"))
    return set(re.findall(r"^([a-z][a-z-]*):", text, re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_make_command_is_a_target(page: Path) -> None:
    asked = set(re.findall(r"\bmake ([a-z][a-z-]*)", " ".join(commands(page))))
    assert asked - targets() == set()


def commands(page: Path) -> list[str]:
    """What stands in backticks, and in blocks of the shell."""
    text = page.read_text()
    shown = [block.text for block in blocks(page) if block.language == "sh"]
    return [*shown, *re.findall(r"`([^`\n]+)`", FENCE.sub("", text))]


def test_ci_runs_the_commands_of_the_readme() -> None:
    run = (ROOT / ".ci" / "run").read_text()
    for command in ("make check", "make test", "make demo"):
        assert command in (ROOT / "README.md").read_text()
        assert command in run


def test_the_project_names_no_machine_and_no_index() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    files = [ROOT / name for name in listed.stdout.split("\0") if name]
    found = {
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in files
        if path.is_file() and path.name != Path(__file__).name
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if PRIVATE.search(line)
    }
    assert found == set()


@pytest.mark.parametrize("page", ["docs/deploy.md"])
def test_every_parameter_and_every_variable_is_documented(page: str) -> None:
    document = Template.load(ROOT / "template.yaml").document
    variables = document["Globals"]["Function"]["Environment"]["Variables"]
    text = (ROOT / page).read_text()
    read = re.findall(r'"(DURABLE_\w+)"', (ROOT / "durable" / "functions" / "configuration.py").read_text())
    assert [name for name in [*document["Parameters"], *variables, *read] if f"`{name}`" not in text] == []


def test_every_example_is_listed() -> None:
    text = (ROOT / "docs" / "workflows.md").read_text()
    modules = [path for path in (ROOT / "handler" / "workflows").glob("*.py") if "@workflow" in path.read_text()]
    assert [path.name for path in modules if f"(../handler/workflows/{path.name})" not in text] == []


def test_every_route_is_documented() -> None:
    routes = re.findall(
        r'^@app\.(\w+)\("(.+)"\)', (ROOT / "durable" / "functions" / "api.py").read_text(), re.MULTILINE
    )
    text = (ROOT / "docs" / "deploy.md").read_text().replace("{id}", "<execution_id>")
    shown = {re.sub(r"\{(\w+)\}", r"<\1>", route) for route in re.findall(r"`((?:GET|POST) [^`]+)`", text)}
    assert {f"{method.upper()} {path}" for method, path in routes} == shown - {"POST /workflows/checkout/executions"}


def test_every_attribute_of_the_head_and_every_rule_of_the_protocol_is_explained() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    attributes = set(Head.__struct_fields__) - {"execution_id"}
    assert {name for name in attributes if f"`{name}`" not in text} == set()
    rules = text.partition("## The twelve rules")[2].partition("\n## ")[0]
    assert re.findall(r"^(\d+)\. \*\*", rules, re.MULTILINE) == [str(number) for number in range(1, 13)]


def test_every_alarm_and_every_metric_is_documented() -> None:
    text = (ROOT / "docs" / "operate.md").read_text()
    alarms = re.findall(r"^  (\w+)Alarm:$", (ROOT / "infra" / "alarms.yaml").read_text(), re.MULTILINE)
    assert [name for name in alarms if f"### {name}\n" not in text] == []
    shown = re.findall(r"MetricName=(\w+)", (ROOT / "infra" / "dashboard.yaml").read_text())
    assert [name for name in shown if f"`{name}`" not in text] == []


QUESTIONS = (
    "decided what replay does",
    "happens to a delivered message",
    "is written to the table",
    "are the head's attributes",
    "is a body run and timed",
    "it found what is rolled back",
    "do I add an operation",
    "do I add an AWS call",
)


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_newcomer_s_question_is_answered_with_a_file(question: str) -> None:
    (row,) = [line for line in (ROOT / "CONTRIBUTING.md").read_text().splitlines() if f"{question}" in line]
    files = [target for target in LINK.findall(row) if target.endswith(".py")]
    assert files
    assert [file for file in files if not (ROOT / file).is_file()] == []

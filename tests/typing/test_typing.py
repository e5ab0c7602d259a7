"""What type checkers see of the public API: mypy and pyright, both strict, over code as users write it.

In `cases/` the type that a line reveals stands beside it (`# mypy: …` where mypy sees less), and what must be an error is
marked `# rejected`. In `workflows/` and in the project's own workflows nothing may be one.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CASES = [HERE / "cases" / f"{name}.py" for name in ("steps", "outcomes", "executions")]
REJECTED = HERE / "cases" / "rejected.py"
CHECKERS = ("mypy", "pyright")

Place = tuple[str, int]  # file and line


@dataclass
class Findings:
    """What a checker said."""

    revealed: dict[Place, str] = field(default_factory=dict)
    errors: dict[Place, list[str]] = field(default_factory=dict)

    def error(self, place: Place, message: str) -> None:
        """Take note of an error."""
        self.errors.setdefault(place, []).append(message)


@pytest.fixture(scope="session")
def findings() -> dict[str, Findings]:
    return {"mypy": mypy(), "pyright": pyright()}


def mypy() -> Findings:
    options = [
        "--config-file=",
        "--cache-dir=.mypy_cache/typing",
        "--strict",
        "--python-version=3.11",
        "--hide-error-context",
        "--no-error-summary",
    ]
    lines = output(
        "mypy", *options, str(HERE / "workflows"), str(HERE / "cases"), str(ROOT / "handler" / "workflows")
    ).splitlines()
    found = Findings()
    for line in lines:
        name, number, severity, message = line.split(":", 3)
        place = os.path.relpath(ROOT / name, HERE), int(number)
        revealed = re.fullmatch(r' Revealed type is "(.*)"', message)
        if revealed:
            found.revealed[place] = as_written(revealed[1])
        elif severity == " error":
            found.error(place, message)
    return found


def pyright() -> Findings:
    found = Findings()
    for each in json.loads(output("pyright", "--project", str(HERE), "--outputjson"))["generalDiagnostics"]:
        place = os.path.relpath(each["file"], HERE), each["range"]["start"]["line"] + 1
        revealed = re.fullmatch(r'Type of ".*" is "(.*)"', each["message"], re.DOTALL)
        if revealed:
            found.revealed[place] = as_written(revealed[1])
        else:
            found.error(place, each["message"])
    return found


def output(checker: str, *arguments: str) -> str:
    command = [sys.executable, "-m", checker, *arguments]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode in (0, 1) and ran.stdout, f"{checker} can't run: {ran.stdout}{ran.stderr}"
    return ran.stdout


def as_written(revealed: str) -> str:
    """A type as one writes it: without modules, the literals of a union in one."""
    text = re.sub(r"TypedDict\(([\w.]+), \{.*?\}\)", r"\1", revealed)
    text = re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", text)
    text = re.sub(r"\(([^()]*)\)", r"[\1]", text)  # the parameters of a function
    return text.replace("'] | Literal['", "', '")


def wanted(checker: str) -> dict[Place, str]:
    """What the comments in the cases say."""
    found: dict[Place, str] = {}
    for path in CASES:
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            if "reveal_type(" in line:
                code, mark, comment = line.rpartition("  # ")
                assert mark, f"{path.name}:{number} does not say what it reveals: {code or line}"
                usual, _, less = comment.partition("; mypy: ")
                found[f"cases/{path.name}", number] = less if less and checker == "mypy" else usual
    return found


@pytest.mark.parametrize("checker", CHECKERS)
def test_a_checker_sees_the_types_that_stand_beside_the_lines(findings: dict[str, Findings], checker: str) -> None:
    expected = wanted(checker)
    assert len(expected) > 100
    assert findings[checker].revealed == expected


@pytest.mark.parametrize("checker", CHECKERS)
def test_a_checker_rejects_each_line_that_is_marked_and_nothing_else_anywhere(
    findings: dict[str, Findings], checker: str
) -> None:
    marked = {
        (f"cases/{REJECTED.name}", number)
        for number, line in enumerate(REJECTED.read_text().splitlines(), start=1)
        if line.endswith("# rejected")
    }
    errors = findings[checker].errors
    assert {place: messages for place, messages in errors.items() if place not in marked} == {}
    assert marked - errors.keys() == set()


@pytest.mark.parametrize("checker", CHECKERS)
def test_a_message_about_a_wrong_argument_does_not_speak_of_coroutines(
    findings: dict[str, Findings], checker: str
) -> None:
    lines = REJECTED.read_text().splitlines()
    wrong = [number for number, line in enumerate(lines, start=1) if "ctx.step(" in line and '", charge, ' in line]
    spoken = {number: findings[checker].errors[f"cases/{REJECTED.name}", number] for number in wrong}
    assert len(spoken) > 8
    assert {number: told for number, told in spoken.items() if "Coroutine" in " ".join(told)} == {}

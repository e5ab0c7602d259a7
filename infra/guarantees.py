"""Writes the column of docs/guarantees.md that says which tests prove a rule: `make guarantees`.

The sentences are written by hand, each in its row. The tests say by `@pytest.mark.rule("D3")` which rules they prove, and
are read here without being run.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "guarantees.md"
TESTS = ROOT / "tests"
GROUPS = {
    "D": "Durable replay",
    "S": "Steps and retries",
    "F": "Failures as data",
    "R": "Rollback",
    "L": "Loops",
    "Q": "Queues and sleeps",
    "J": "Waiting",
    "E": "Executions, delivery, HTTP",
}
BEGIN, END = "<!-- rules: `make guarantees` writes the last column -->\n", "<!-- end of the rules -->\n"
UNPROVED = "Built, and not promised yet: no test carries the rule's id"

_ROW = re.compile(r"^\| ([A-Z]\d+) \| (.+?) \|(?: .* \|)?$", re.MULTILINE)


def carried(tests: Path = TESTS) -> dict[str, list[str]]:
    """The files of the tests that carry each rule, as paths below the folder of the tests."""
    found: dict[str, set[str]] = {}
    for path in sorted(tests.rglob("test_*.py")):
        for rule in rules_of(path.read_text()):
            found.setdefault(rule, set()).add(path.relative_to(tests).as_posix())
    return {rule: sorted(files) for rule, files in found.items()}


def rules_of(source: str) -> Iterator[str]:
    """Every rule that a mark in a test file names."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="mark"), attr="rule"), args=arguments):
                yield from (ast.literal_eval(argument) for argument in arguments)


def sentences(page: str) -> dict[str, str]:
    """What the page says of each rule, in the page's order."""
    return {match[1]: match[2] for match in _ROW.finditer(page)}


def current(page: str, proved_by: Mapping[str, Sequence[str]]) -> str:
    """The page with its tables as they should be."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    rows = sorted(sentences(page).items(), key=_place)
    tables = [
        _table(
            title, ["rule", "what holds", "proved by"], [_proved(row, proved_by) for row in rows if row[0][0] == letter]
        )
        for letter, title in GROUPS.items()
        if any(row[0][0] == letter and row[0] in proved_by for row in rows)
    ]
    for_later = [f"| {rule} | {says} |" for rule, says in rows if rule not in proved_by]
    if for_later:
        tables.append(_table(UNPROVED, ["rule", "what the code does"], for_later))
    return f"{_without_rows(before)}{BEGIN}\n{''.join(tables)}{END}{_without_rows(after)}"


def _without_rows(part: str) -> str:
    """A row may be written anywhere on the page: it is moved to its table."""
    return re.sub(r"^\| [A-Z]\d+ \|.*\n", "", part, flags=re.MULTILINE)


def _table(title: str, columns: Sequence[str], rows: Sequence[str]) -> str:
    head = [f"## {title}", "", f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    return "\n".join([*head, *filter(None, rows)]) + "\n\n"


def _proved(row: tuple[str, str], proved_by: Mapping[str, Sequence[str]]) -> str:
    rule, says = row
    if rule not in proved_by:
        return ""
    return f"| {rule} | {says} | {', '.join(f'[{file[:-3]}](../tests/{file})' for file in proved_by[rule])} |"


def _place(row: tuple[str, str]) -> tuple[int, int]:
    return list(GROUPS).index(row[0][0]), int(row[0][1:])


if __name__ == "__main__":
    PAGE.write_text(current(PAGE.read_text(), carried()))
    sys.exit(0)

"""docs/guarantees.md and the tests' marks say the same."""

from __future__ import annotations

from infra.guarantees import BEGIN, END, PAGE, UNPROVED, carried, current, rules_of, sentences


def promised(page: str) -> set[str]:
    """The rules that the page promises: those of its tables, without what it says is not promised yet."""
    return set(sentences(page.partition(f"## {UNPROVED}")[0]))


def test_every_rule_that_is_promised_is_carried_by_a_test() -> None:
    assert promised(PAGE.read_text()) - set(carried()) == set()


def test_every_rule_that_a_test_carries_is_promised() -> None:
    assert set(carried()) - promised(PAGE.read_text()) == set(), "write a row, then run `make guarantees`"


def test_the_page_names_the_tests_of_today() -> None:
    page = PAGE.read_text()
    assert page == current(page, carried()), "run `make guarantees`"


def test_no_rule_stands_on_the_page_twice() -> None:
    rows = [line.split()[1] for line in PAGE.read_text().splitlines() if line.startswith("| ") and line[2].isupper()]
    assert sorted(rows) == sorted(set(rows))


def test_a_row_moves_to_the_promises_when_a_test_carries_its_rule() -> None:
    page = f"Rules.\n{BEGIN}{END}The end.\n| D2 | It runs once. |\n| Q3 | It is answered. |\n"
    written = current(page, {"D2": ["model/test_protocol.py"]})
    assert promised(written) == {"D2"}
    assert "| D2 | It runs once. | [model/test_protocol](../tests/model/test_protocol.py) |" in written
    assert "| Q3 | It is answered. |" in written


def test_every_place_of_a_mark_is_found() -> None:
    source = """
pytestmark = [pytest.mark.rule("D1"), pytest.mark.slow]
@pytest.mark.rule("D2", "D3")
class TestAll:
    @pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.rule("D4"))])
    def test_one(self, x): ...
"""
    assert sorted(rules_of(source)) == ["D1", "D2", "D3", "D4"]

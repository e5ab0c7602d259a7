"""The time that MiniStack is told (infra.local.virtual_time)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from infra.local.virtual_time import seconds

MOMENTS = st.integers(0, 4_102_444_800_000)  # milliseconds, up to the year 2100


@given(MOMENTS, st.integers(0, 400 * 86_400))
def test_so_many_seconds_later_is_exactly_so_many_seconds_more(moment: int, later: int) -> None:
    assert seconds(moment + 1000 * later) == seconds(moment) + later


@given(MOMENTS)
def test_the_milliseconds_can_be_read_from_it(moment: int) -> None:
    assert int(seconds(moment) * 1000) == moment

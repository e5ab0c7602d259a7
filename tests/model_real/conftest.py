"""What the explorations share."""

from __future__ import annotations

import pytest

from tests.model_real.surprises import surprises


@pytest.fixture(autouse=True)
def nothing_of_other_tests() -> None:
    """What other tests of this process have made the runtime log is no surprise here."""
    surprises.clear()

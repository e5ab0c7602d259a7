"""The format of what is stored and sent, as a number. What is newer than this code is left alone until newer code comes.

In a rolling deploy two releases work on one table. A head, packed entries and messages say in which format they were
written. A number that is too high stops whoever reads it before anything is changed: the execution is held, as one of an
unknown workflow is.
"""

from __future__ import annotations

from durable.errors import StoreError

FORMAT = 1  # what this code writes, and the newest that it reads


class NewerFormat(StoreError):
    """Something was written by a newer release than this one. Nothing was changed, and nothing is lost."""


def checked(number: int, what: str) -> None:
    """Raise NewerFormat, which says `what` it is of, for a format that is newer than this code."""
    if number > FORMAT:
        raise NewerFormat(
            f"{what} is of format {number}, and this release reads up to format {FORMAT}: it was written by a newer "
            "release. Deploy that here too; until then it is left alone"
        )

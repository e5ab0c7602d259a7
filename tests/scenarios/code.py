"""A workflow whose code is deployed anew while its executions run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from durable import Context, workflow


class Code:
    """`code.workflow` runs `code.deployed`: assign another function, and the next replay runs that."""

    def __init__(self, deployed: Callable[[Context], Any], **options: Any) -> None:
        self.deployed = deployed

        @workflow(name="changing", **options)
        def changing(ctx: Context) -> Any:
            return self.deployed(ctx)

        self.workflow = changing

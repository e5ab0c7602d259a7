"""Print the figures of docs/performance.md; exit status 1 when a bar is not kept.

Counts are exact. A bar on time is a ratio of two times of one run, so that it holds on a slow machine too.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable

from infra.bench import calls, cold_start, imports, replay, scopes, stores
from infra.bench.report import Figure, show


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m infra.bench", description=__doc__)
    parser.add_argument(
        "only",
        nargs="*",
        choices=["calls", "loop", "stores", "replay", "scopes", "imports", "cold", []],
        help="these parts alone",
    )
    parser.add_argument("--iterations", type=int, default=1_000, help="of the measured loop; 10,000 takes minutes")
    chosen = parser.parse_args()
    parts: dict[str, tuple[str, Callable[[], Iterable[Figure]]]] = {
        "calls": ("AWS calls and units", calls.figures),
        "loop": ("A loop that forgets", lambda: calls.loop_figures(chosen.iterations)),
        "stores": ("A harness over the local store", stores.figures),
        "replay": ("Replay", replay.figures),
        "scopes": ("What has ended", scopes.figures),
        "imports": ("Imports", imports.figures),
        "cold": ("Cold starts", cold_start.figures),
    }
    kept = True
    for name in chosen.only or parts:
        title, measure = parts[name]
        measured = list(measure())
        show(title, measured)
        kept = kept and all(figure.kept for figure in measured)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())

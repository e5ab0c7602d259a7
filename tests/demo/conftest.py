from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.demo.bank import Banks, Server
from infra.demo.ledger import Ledger
from infra.demo.scenario import Account, Fault, How, Scenario, Transfer

OPEN = Account("XQ01NORD", "Ada", "NORD", 100_000, 5_000)
OTHER = Account("XQ02ATLA", "Bao", "ATLA", 100_000, 5_000)
CLOSED = Account("XQ03NORD", "Carla", "NORD", 0, 5_000, closed=True)


def faulty(how: How, times: int = 1, operation: str = "credit") -> Account:
    return Account("XQ04ATLA", "Dora", "ATLA", 0, 5_000, faults={operation: Fault(how, times, "not today")})


def scenario(*accounts: Account, transfers: tuple[Transfer, ...] = ()) -> Scenario:
    return Scenario({account.number: account for account in accounts}, transfers)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    yield ledger
    ledger.close()


@pytest.fixture
def bank_at(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """Serves the given accounts over HTTP; the workflow's own client then talks to it."""
    servers: list[Server] = []

    def serve(*accounts: Account) -> None:
        ledger.found(accounts)
        server = Server(Banks(scenario(*accounts), ledger))
        servers.append(server)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        monkeypatch.setenv("DEMO_BANK_URL", f"http://127.0.0.1:{server.server_port}")

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()

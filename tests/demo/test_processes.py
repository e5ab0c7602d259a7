from __future__ import annotations

import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from infra.demo.processes import Processes, ProcessFailed, Report

SUPERVISOR = """
import sys, time
from pathlib import Path
from infra.demo.processes import Processes
processes = Processes(Path(sys.argv[1]))
processes.start("banks", "infra.demo.bank", sys.argv[1] + "/ledger.sqlite")
print(*processes.wait_until_ready("banks"), flush=True)
time.sleep(60)
"""


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url + "/bookings?key=k", timeout=5) as response:
            return bool(response.status == 200)
    except OSError:
        return False


def test_a_process_is_ready_when_it_serves_and_ends_with_the_block(tmp_path: Path) -> None:
    with Processes(tmp_path) as processes:
        processes.start("banks", "infra.demo.bank", str(tmp_path / "ledger.sqlite"))
        [url] = processes.wait_until_ready("banks")
        assert answers(url)
    assert not answers(url)


def test_a_process_that_does_not_start_is_told_with_its_last_words(tmp_path: Path) -> None:
    with Processes(tmp_path) as processes:
        processes.start("banks", "infra.demo.bank", str(tmp_path / "nowhere" / "ledger.sqlite"))
        with pytest.raises(ProcessFailed, match=r"banks did not start:[\s\S]*unable to open database file"):
            processes.wait_until_ready("banks")


def test_the_end_of_a_process_is_reported_with_its_status(tmp_path: Path) -> None:
    with Processes(tmp_path) as processes:
        processes.start("nothing", "infra.demo.scenario")
        assert processes.reports(wait=30) == [Report("nothing", "ended", 0)]


def test_processes_end_even_when_the_one_that_started_them_is_killed(tmp_path: Path) -> None:
    arguments = [sys.executable, "-c", SUPERVISOR, str(tmp_path)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as supervisor:
        assert supervisor.stdout
        url = supervisor.stdout.readline().strip()
        assert answers(url)
        supervisor.send_signal(signal.SIGKILL)
        supervisor.wait()
    for _ in range(100):
        if not answers(url):
            return
        signal.sigtimedwait([], 0.05)
    pytest.fail("the banks outlived the process that started them")

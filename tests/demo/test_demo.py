from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from infra.demo.__main__ import main


def test_a_few_transfers_survive_two_kills(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments = ["--transfers", "6", "--kills", "2", "--workers", "2", "--seed", "4"]
    ended = subprocess.run(
        [sys.executable, "-m", "infra.demo", *arguments],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
        env={"TMPDIR": str(tmp_path), "PATH": ""},
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.splitlines()[0] == "6 transfers, 2 workers, 2 kills, seed 4"
    assert "FAILED" not in ended.stdout
    assert "transfers     5 completed, 1 rolled back" in ended.stdout
    assert "killed        2 workers by SIGKILL: 1 in a body, 1 between checkpoint and send" in ended.stdout
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_leaves_nothing_behind(tmp_path: Path) -> None:
    arguments = [
        sys.executable,
        "-m",
        "infra.demo",
        "--transfers",
        "200",
        "--kills",
        "0",
    ]  # far from its end, whoever waits
    environment = {"TMPDIR": str(tmp_path), "PATH": ""}
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a script's background job, and all it starts, ignores it
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env=environment) as demo:
        assert demo.stdout
        while "open" not in demo.stdout.readline():
            pass
        demo.send_signal(signal.SIGINT)
        demo.stdout.read()  # closes when the demo has, and each process that it started
        assert demo.wait(timeout=30) == 130
    assert list(tmp_path.iterdir()) == []


def test_more_kills_than_possible_are_refused_before_anything_starts(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--transfers", "1", "--kills", "99"])
    assert "1 transfers come to" in capsys.readouterr().err

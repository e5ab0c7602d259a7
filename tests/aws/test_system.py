"""The process that Lambda runs us in, its clock and its chance."""

from __future__ import annotations

import re
import subprocess
import sys
import time

from durable.aws.system import STATUS, RandomNonces, SystemClock

DYING = """
import sys, threading, time
from durable.aws.system import LambdaProcess

threading.Thread(target=lambda: time.sleep(60)).start()  # a body that never ends
sys.stdout.write("a line, ")
try:
    LambdaProcess(lambda: sys.stdout.write("the metrics")).exit()
finally:
    sys.stdout.write("and nothing after")
"""


def test_a_process_ends_at_once_with_all_its_threads_and_writes_what_it_has() -> None:
    ended = subprocess.run([sys.executable, "-c", DYING], check=False, capture_output=True, text=True, timeout=30)
    assert (ended.returncode, ended.stdout) == (STATUS, "a line, the metrics")


def test_the_clock_tells_milliseconds_and_waits_in_place() -> None:
    clock = SystemClock()
    before = clock.now()
    clock.sleep(0.02)
    assert abs(clock.now() - time.time() * 1000) < 1_000
    assert 20 <= clock.now() - before < 1_000


def test_nonces_are_short_and_never_the_same() -> None:
    nonces = RandomNonces()
    made = {nonces() for _ in range(10_000)}
    assert len(made) == 10_000
    assert all(re.fullmatch("[0-9a-zA-Z_-]{12}", nonce) for nonce in made)

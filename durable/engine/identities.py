"""Idempotency keys: stable over attempts and replays, unique per step, execution and run (S6).

A life is one execution of an id: the id may be used again when that has expired, and its keys must be new then.
"""

from __future__ import annotations

from hashlib import sha256


def forward_key(life: str, run: int, path: str) -> str:
    """The key of a step's body: 64 characters `[0-9a-f]`."""
    return _hashed("step", life, run, path)


def rollback_key(life: str, run: int, path: str) -> str:
    """The key of a step's rollback."""
    return _hashed("rollback", life, run, path)


def _hashed(role: str, life: str, run: int, path: str) -> str:
    return sha256(f"{role}\0{life}\0{run}\0{path}".encode()).hexdigest()

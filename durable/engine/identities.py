"""Idempotency keys: stable over attempts and replays, unique per step, execution and run (S6)."""

from __future__ import annotations

from hashlib import sha256


def forward_key(execution_id: str, run: int, path: str) -> str:
    """The key of a step's body: 64 characters `[0-9a-f]`."""
    return _hashed("step", execution_id, run, path)


def rollback_key(execution_id: str, run: int, path: str) -> str:
    """The key of a step's rollback."""
    return _hashed("rollback", execution_id, run, path)


def _hashed(role: str, execution_id: str, run: int, path: str) -> str:
    return sha256(f"{role}\0{execution_id}\0{run}\0{path}".encode()).hexdigest()

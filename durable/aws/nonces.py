"""Chance, from the operating system."""

from __future__ import annotations

import os
from base64 import urlsafe_b64encode

SIZE = 9  # bytes: 72 bits, written in 12 characters, for they ride on every head


class RandomNonces:
    """Implements `durable.runtime.ports.Nonces`."""

    def __call__(self) -> str:
        """A short string that was never returned before."""
        return urlsafe_b64encode(os.urandom(SIZE)).decode()

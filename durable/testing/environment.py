"""The environment of this process, as the function that runs in it finds it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

Variables = Mapping[str, str | None]  # None: not there


class ProcessEnvironment:
    """Installs variables and takes them away again: afterwards the environment is as it was.

    While it is `kept`, the variables of a function stay when it has ended, for the next is likely to want the same.
    """

    def __init__(self) -> None:
        self._installed: Variables = {}
        self._before: dict[str, str | None] = {}
        self._keepers = 0
        self._running = 0

    @contextmanager
    def of(self, variables: Variables) -> Iterator[None]:
        """The environment has these variables."""
        outer = self._installed
        self._install(variables)
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1
            if self._running or not self._keepers:  # another function, within whose run this one was, goes on
                self._install(outer)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """What is installed stays until this is over."""
        outer = self._installed
        self._keepers += 1
        try:
            yield
        finally:
            self._keepers -= 1
            self._install(outer)

    def _install(self, variables: Variables) -> None:
        installed = self._installed
        if installed == variables:
            return
        for name in installed.keys() - variables.keys():
            _set(name, self._before.pop(name))
        for name, value in variables.items():
            if name not in installed:
                self._before[name] = os.environ.get(name)
                _set(name, value)
            elif installed[name] != value:
                _set(name, value)
        self._installed = dict(variables)


@contextmanager
def installed(variables: Variables) -> Iterator[None]:
    """The process's environment has these variables; afterwards it is as it was."""
    with ProcessEnvironment().of(variables):
        yield


def _set(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value

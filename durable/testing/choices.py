"""What a harness leaves open, the environment chooses: so a whole suite can be run on either store, over either transport."""

from __future__ import annotations

import os

from durable.errors import ConfigurationError
from durable.testing.aws.emulator import Emulator
from durable.testing.backend import Backend

STORE = "DURABLE_TEST_STORE"
TRANSPORT = "DURABLE_TEST_TRANSPORT"


def chosen_store(store: str | None) -> str:
    """Return moto or local; raises ConfigurationError for anything else."""
    return _choice("store", store, STORE, ("moto", "local"))


def chosen_transport(transport: str | None) -> str:
    """Return sqs or eventbridge; raises ConfigurationError for anything else."""
    return _choice("transport", transport, TRANSPORT, ("sqs", "eventbridge"))


def backend_of(store: str, emulator: Emulator) -> Backend:
    """Return the backend of a store; neither of the two loads what the other needs."""
    if store == "local":
        from durable.testing.local.backend import local

        return local
    from durable.testing.aws.backend import emulated

    return lambda world: emulated(emulator, world)


def _choice(name: str, chosen: str | None, variable: str, choices: tuple[str, ...]) -> str:
    """Return what was chosen, by the argument or by the environment; by default the first."""
    value = chosen or os.environ.get(variable) or choices[0]
    if value not in choices:
        raise ConfigurationError(f"the {name} of a harness is {' or '.join(choices)}, not {value!r}.")
    return value

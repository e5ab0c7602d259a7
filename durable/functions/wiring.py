"""Build the application of a process. This is the only reader of the environment, at the first event."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module

from durable.api.workflow import AnyWorkflow
from durable.aws.logging import service_logger
from durable.aws.metrics import MetricsObserver
from durable.aws.system import LambdaProcess, RandomNonces, SystemClock
from durable.functions.configuration import Configuration
from durable.functions.discovery import discovered
from durable.runtime.application import Application, assemble
from durable.runtime.ports import Adapters, Clock, Observer, Ports, Process
from durable.runtime.registry import Registry
from durable.runtime.storage.values import Vault


@dataclass(slots=True)
class _Installed:
    application: Application | None = None


_process = _Installed()

if "AWS_LAMBDA_RUNTIME_API" in os.environ:  # while a function starts it has a whole processor: load AWS's packages then
    import_module("durable.functions.aws")


def application() -> Application:
    """Return the application of this process, built when it is first asked for."""
    if _process.application is None:
        _process.application = build(os.environ)
    return _process.application


def install(application: Application | None) -> None:
    """Make this the application of the process. None: the next use builds it anew, as in a cold process."""
    _process.application = application


def build(
    environment: Mapping[str, str],
    workflows: Iterable[AnyWorkflow] | None = None,
    clock: Clock | None = None,
    *,
    process: Process | None = None,
    observer: Observer | None = None,
    adapters: Adapters | None = None,
) -> Application:
    """Return an application for this environment, by default with the workflows that DURABLE_WORKFLOWS names and the real time.

    Raises ConfigurationError that names all that the environment lacks, and DuplicateWorkflow.
    """
    configuration = Configuration.read(environment)
    service_logger(configuration.service)
    time = clock or SystemClock()
    bound = adapters or _aws(configuration, environment, time)
    metrics = MetricsObserver(configuration.namespace, configuration.service)
    ports = Ports(
        store=bound.store,
        values=Vault(bound.store, bound.blobs),
        queue=bound.queue,
        clock=time,
        nonces=RandomNonces(),
        process=process or LambdaProcess(metrics.flush),
        observer=observer or metrics,
        publisher=bound.publisher,
    )
    registry = Registry(discovered(configuration.workflows) if workflows is None else workflows)
    return assemble(configuration.settings, ports, registry)


def _aws(configuration: Configuration, environment: Mapping[str, str], time: Clock) -> Adapters:
    """Bind the ports to AWS."""
    from durable.functions.aws import adapters  # loads boto3, which the local store does without

    return adapters(configuration, environment, time)

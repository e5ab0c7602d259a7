"""`make deploy-local`: the whole stack on this machine. It goes on until `make deploy-local ARGS=--stop`.

Arguments are parameters of the template: `make deploy-local ARGS="Transport=eventbridge"`.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from durable.errors import ConfigurationError
from infra.local.artefact import ROOT, Artefact
from infra.local.deployment import ROLES_BIND, Deployed, deploy
from infra.local.ministack import MiniStack

FOLDER = ROOT / ".aws-sam" / "local"
PORT = 4566
PROCESSES = FOLDER / "processes.json"


def main(arguments: list[str]) -> None:
    if arguments == ["--stop"]:
        stop()
        return
    if any("=" not in argument for argument in arguments):
        sys.exit('make deploy-local takes ARGS=--stop, or parameters of the template: ARGS="Transport=eventbridge"')
    parameters = {"WorkerTimeout": "30", **dict(argument.split("=", 1) for argument in arguments)}
    Artefact.built().template(parameters)  # raises if there are no such parameters
    stop()
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    bank, bank_url = start_bank()
    PROCESSES.write_text(json.dumps([bank]))
    onto = MiniStack.start(PORT, FOLDER / "ministack", {"DEMO_BANK_URL": bank_url, **ROLES_BIND})
    PROCESSES.write_text(json.dumps([bank, onto.process.pid]))
    deployed = deploy(Artefact.built().copy(FOLDER / "build"), onto, parameters)
    write_settings(deployed)
    print(instructions())


def start_bank() -> tuple[int, str]:
    """The demo's banks, for the transfers of handler/workflows/transfer.py: a process, and its URL."""
    os.mkfifo(FOLDER / "bank.in")
    end = os.open(
        FOLDER / "bank.in", os.O_RDWR
    )  # both ends of it: the bank goes on after us, for it ends with its input
    with (FOLDER / "bank.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "infra.demo.bank", str(FOLDER / "ledger.sqlite")],
            cwd=ROOT,
            stdin=end,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
    os.close(end)
    assert process.stdout is not None
    _, url = json.loads(process.stdout.readline())
    return process.pid, url


def stop() -> None:
    """End what an earlier call has started, if it still runs."""
    if not PROCESSES.exists():
        return
    for process in json.loads(PROCESSES.read_text()):
        try:
            os.killpg(process, signal.SIGTERM)
        except ProcessLookupError:
            continue
    PROCESSES.unlink()
    print("stopped")


def write_settings(deployed: Deployed) -> None:
    """A file for `source`: where the stack is, and the names of what is in it."""
    names = {"TABLE": "TableName", "QUEUE": "ContinuationQueueUrl", "START_QUEUE": "StartQueueUrl", "BUS": "BusName"}
    variables = {**deployed.onto.variables, **{name: deployed.outputs[output] for name, output in names.items()}}
    settings().write_text("".join(f"export {name}='{value}'\n" for name, value in variables.items()))


def settings() -> Path:
    return FOLDER / "environment"


def instructions() -> str:
    folder = FOLDER.relative_to(ROOT)
    return f"""
The stack runs on this machine, at http://127.0.0.1:{PORT}. Start a transfer, and look at it:

    . {folder}/environment
    .venv/bin/python -m infra.local.transfer           # and one that is rolled back: --fails

The functions' logs are in {folder}/ministack/ministack.log. `make deploy-local ARGS=--stop` ends it all.
"""


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except ConfigurationError as error:
        sys.exit(str(error))

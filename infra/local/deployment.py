"""`sam deploy` onto MiniStack: the built template, less what MiniStack can't read."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import yaml

from infra.local.artefact import ROOT, Artefact
from infra.local.ministack import REGION, MiniStack
from infra.local.runtime import processor

SAM = ROOT / ".venv-sam" / "bin" / "sam"
SETTINGS = ROOT / "samconfig.toml"
STACK = "durable"
ROLES_BIND = {"AUTH": "true"}  # a MiniStack that is told so refuses what the role of a function does not allow


@dataclass(frozen=True, slots=True)
class Deployed:
    """A stack on MiniStack."""

    stack: str
    onto: MiniStack
    outputs: Mapping[str, str]


def deploy(artefact: Artefact, onto: MiniStack, parameters: Mapping[str, str], stack: str = STACK) -> Deployed:
    """Deploy a copy of what was built, which is changed where MiniStack differs from AWS."""
    mend(artefact)
    chosen = {"Architecture": processor(), "Runtime": _runtime(), **parameters}
    subprocess.run(
        [
            str(SAM),
            "deploy",
            *("--template-file", str(artefact.folder / "template.yaml")),
            *("--config-file", str(SETTINGS), "--stack-name", stack),
            *("--no-confirm-changeset", "--no-progressbar", "--no-fail-on-empty-changeset"),
            "--parameter-overrides",
            *(f'{name}="{_escaped(value)}"' for name, value in chosen.items()),
        ],
        check=True,
        env={**os.environ, **onto.variables, "SAM_CLI_TELEMETRY": "0"},
    )
    session: Any = boto3.Session("test", "test", region_name=REGION)
    (made,) = session.client("cloudformation", endpoint_url=onto.url).describe_stacks(StackName=stack)["Stacks"]
    return Deployed(stack, onto, {output["OutputKey"]: output["OutputValue"] for output in made["Outputs"]})


def mend(artefact: Artefact) -> None:
    """Change what MiniStack does not read as AWS does; docs/deploy-local.md has the list."""
    main = artefact.folder / "template.yaml"
    written = json.dumps(artefact.template().document)
    document = json.loads(written.replace("schedule/${ScheduleGroup}/", "schedule/default/"))
    numbers = {
        name: parameter["Default"]
        for name, parameter in document["Parameters"].items()
        if parameter["Type"] == "Number" and "Default" in parameter
    }
    for resource in document["Resources"].values():
        for event in resource.get("Properties", {}).get("Events", {}).values():
            event["Properties"] = _with_numbers(event["Properties"], numbers)
    _rewrite(main, document)
    alarms = artefact.folder / "Alarms" / "template.yaml"
    nested = yaml.safe_load(alarms.read_text())
    nested["Resources"] = {
        name: resource for name, resource in nested["Resources"].items() if "Metrics" not in resource["Properties"]
    }
    _rewrite(alarms, nested)


def _with_numbers(value: Any, numbers: Mapping[str, Any]) -> Any:
    """AWS makes a number of a parameter of type Number wherever one is needed; MiniStack leaves it the text that it is."""
    if isinstance(value, dict):
        if value.keys() == {"Ref"} and value["Ref"] in numbers:
            return numbers[value["Ref"]]
        return {key: _with_numbers(member, numbers) for key, member in value.items()}
    return [_with_numbers(member, numbers) for member in value] if isinstance(value, list) else value


def _rewrite(file: Path, document: Any) -> None:
    """JSON is YAML too. The file may be a link to the one that was built, which stays as it is."""
    file.unlink()
    file.write_text(json.dumps(document, indent=2))


def _runtime() -> str:
    """The runtime that MiniStack has: the Python of its environment."""
    (library,) = (ROOT / ".venv-ministack" / "lib").glob("python3.*")
    return library.name


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')

"""What `sam build` made: the files that a deployment uploads."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from durable.errors import ConfigurationError
from durable.testing.template.template import FUNCTION, Template

ROOT = Path(__file__).parents[2]
BUILT = ROOT / ".aws-sam" / "build"
LAYER = "DependenciesLayer"


@dataclass(frozen=True, slots=True)
class Artefact:
    """A folder with the template, and with the code of each function and of the layer by logical id."""

    folder: Path

    @classmethod
    def built(cls) -> Self:
        """What the last `make build` made."""
        if not (BUILT / "template.yaml").is_file():
            raise ConfigurationError("nothing is built yet: run `make build`.")
        return cls(BUILT)

    def template(self, parameters: Mapping[str, Any] | None = None) -> Template:
        """The template, whose code is in this folder."""
        return Template.load(self.folder / "template.yaml", parameters)

    def functions(self) -> list[str]:
        """The functions' logical ids."""
        return [resource.id for resource in self.template().resources(FUNCTION)]

    def code(self, function: str) -> Path:
        """What Lambda puts in /var/task."""
        return self.folder / function

    @property
    def packages(self) -> Path:
        """What Lambda puts in /opt/python."""
        return self.folder / LAYER / "python"

    def copy(self, folder: Path, workflows: Iterable[Path] = ()) -> Artefact:
        """The same artefact in another folder (links to the same files), each function with these workflows too."""
        shutil.copytree(self.folder, folder, copy_function=os.link)
        copied = Artefact(folder)
        for function in copied.functions():
            for module in workflows:
                shutil.copy(module, copied.code(function) / "handler" / "workflows")
        return copied

"""The workflows that this deployment knows, by name and version (D7)."""

from __future__ import annotations

from collections.abc import Iterable

from durable.api.workflow import AnyWorkflow
from durable.errors import DuplicateWorkflow, WorkflowNotFound


class Registry:
    """Finds a workflow; an execution keeps the version that it began with, a new one gets the newest."""

    def __init__(self, workflows: Iterable[AnyWorkflow]) -> None:
        self._versions: dict[str, dict[int, AnyWorkflow]] = {}
        for workflow in workflows:
            versions = self._versions.setdefault(workflow.name, {})
            other = versions.setdefault(workflow.version, workflow)
            if other is not workflow:
                raise DuplicateWorkflow(_twice(workflow, other))

    def find(self, name: str, version: int) -> AnyWorkflow | None:
        """This version of it, if it is here."""
        return self._versions.get(name, {}).get(version)

    def newest(self, name: str, version: int | None = None) -> AnyWorkflow:
        """The newest version, or the one asked for; raises WorkflowNotFound that lists what is here."""
        versions = self._versions.get(name)
        if not versions:
            known = ", ".join(sorted(self._versions)) or "none"
            raise WorkflowNotFound(f"no workflow is called '{name}' here; registered: {known}")
        if version is None:
            return versions[max(versions)]
        if version not in versions:
            known = ", ".join(map(str, sorted(versions)))
            raise WorkflowNotFound(f"workflow '{name}' has no version {version} here; registered: {known}")
        return versions[version]

    def names(self) -> list[str]:
        """The names of all, sorted."""
        return sorted(self._versions)


def _twice(one: AnyWorkflow, other: AnyWorkflow) -> str:
    what = f"'{one.name}' version {one.version}"
    if one.where != other.where:
        return (
            f"two workflows are called {what}: {other.where} and {one.where}. Rename one, or give it another version."
        )
    modules = " and ".join(sorted({str(one.__module__), str(other.__module__)}))
    return (
        f"workflow {what} is here twice, from one place: {one.where}. Its module was loaded twice (reloaded, or imported "
        f"under two names: {modules}): import it once, and pass one of them."
    )

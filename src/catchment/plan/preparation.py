"""Reads a workflow file and plans it, collecting all problems of workflow and project."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from catchment import spec
from catchment.errors import Diagnostic, InvalidFiles
from catchment.plan.building import draft
from catchment.plan.model import Plan
from catchment.project import loading
from catchment.project.model import Project
from catchment.spec.findings import Findings
from catchment.spec.model import Workflow


@dataclass(frozen=True)
class Prepared:
    """A workflow file after reading and planning."""

    project: Project | None
    workflow: Workflow | None
    plan: Plan | None
    """None if there are errors."""
    diagnostics: tuple[Diagnostic, ...]

    def require(self) -> tuple[Project, Plan]:
        """Project and plan; raises `InvalidFiles` if there are errors."""
        if self.project is None or self.plan is None:
            raise InvalidFiles(self.diagnostics)
        return self.project, self.plan


def prepare(file: Path, *, env: Mapping[str, str] | None = None, project: Project | None = None) -> Prepared:
    """Read a workflow and its project, unless that is given, and plan it."""
    loaded = spec.load(file, env=env)
    findings = Findings()
    findings.extend(loaded.diagnostics)
    project = project or _project(file, env, findings)
    findings.extend(project.warnings if project else ())
    workflow = loaded.workflow
    plan = draft(workflow, project, findings) if workflow and project else None
    diagnostics = findings.in_order(str(file))
    return Prepared(project, workflow, None if any(each.is_error for each in diagnostics) else plan, diagnostics)


def build(workflow: Workflow, project: Project) -> tuple[Plan | None, tuple[Diagnostic, ...]]:
    """The plan of a workflow, and its problems."""
    findings = Findings()
    plan = draft(workflow, project, findings)
    diagnostics = findings.in_order(workflow.file)
    return (None if any(each.is_error for each in diagnostics) else plan), diagnostics


def _project(file: Path, env: Mapping[str, str] | None, findings: Findings) -> Project | None:
    try:
        return loading.load(file, env=env)
    except InvalidFiles as error:
        findings.extend(error.diagnostics)
        return None

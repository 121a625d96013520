"""Reads a workflow file and plans it, collecting all problems of workflow and project."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from catchment import spec
from catchment.errors import Diagnostic, InvalidFiles
from catchment.plan.building import draft
from catchment.plan.missing_inputs import warn_missing
from catchment.plan.model import Plan
from catchment.project import loading
from catchment.project.model import Project
from catchment.project.secrets import Redactor, weak_secrets
from catchment.spec.boundary import Boundary
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
    """The problems of the files."""
    secrets: tuple[str, ...] = ()
    """The secrets of workflow and project; those of a project with errors are in no diagnostic."""
    missing: tuple[Diagnostic, ...] = ()
    """A warning for each input that is not there now; the files are right, but a run would fail."""

    def require(self) -> tuple[Project, Plan]:
        """Project and plan; raises `InvalidFiles` if there are errors."""
        if self.project is None or self.plan is None:
            raise InvalidFiles(self.diagnostics)
        return self.project, self.plan


def prepare(file: Path, *, env: Mapping[str, str] | None = None, project: Project | None = None) -> Prepared:
    """Read a workflow and its project, unless that is given, and plan it."""
    findings = Findings()
    project = project or _project(file, env, findings)
    loaded = spec.load(file, env=env, boundary=_boundary(file, project))
    findings.extend(loaded.diagnostics)
    findings.settle(loaded.settled)
    findings.extend(weak_secrets(loaded.secrets))
    secrets = (*(project.secrets if project else ()), *(secret.value for secret in loaded.secrets))
    if project:
        findings.extend(project.warnings)
        project = replace(project, secrets=tuple(dict.fromkeys(secrets)))
    workflow = loaded.workflow
    plan = draft(workflow, project, findings) if workflow and project else None
    hide = Redactor(secrets)
    diagnostics = hide.diagnostics(findings.in_order(str(file)))
    missing = hide.diagnostics(tuple(warn_missing(plan)) if plan else ())
    failed = any(each.is_error for each in diagnostics)
    return Prepared(project, workflow, None if failed else plan, diagnostics, secrets, missing)


def build(workflow: Workflow, project: Project) -> tuple[Plan | None, tuple[Diagnostic, ...]]:
    """The plan of a workflow, and its problems."""
    findings = Findings()
    plan = draft(workflow, project, findings)
    diagnostics = findings.in_order(workflow.file)
    return (None if any(each.is_error for each in diagnostics) else plan), diagnostics


def _boundary(file: Path, project: Project | None) -> Boundary:
    """The directories from which the workflow may include files."""
    return Boundary.around(project.root, project.include_paths) if project else Boundary.around(loading.find(file)[0])


def _project(file: Path, env: Mapping[str, str] | None, findings: Findings) -> Project | None:
    try:
        return loading.load(file, env=env)
    except InvalidFiles as error:
        findings.extend(error.diagnostics)
        return None

"""Reads a workflow file and plans it, collecting all problems of workflow and project."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from catchment import spec
from catchment.errors import Diagnostic, InvalidFiles
from catchment.plan.building import draft
from catchment.plan.definition import definition_of
from catchment.plan.missing_inputs import warn_missing
from catchment.plan.model import Plan
from catchment.plan.selection import cut
from catchment.project import loading
from catchment.project.model import Project
from catchment.project.secrets import Redactor, weak_secrets
from catchment.run_model import Choices
from catchment.spec.boundary import Boundary
from catchment.spec.findings import Findings
from catchment.spec.model import Workflow
from catchment.spec.variables import unknown


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
    files: tuple[Path, ...] = ()
    """All files that were read: the project file, the workflow, and what it includes."""
    missing: tuple[Diagnostic, ...] = ()
    """A warning for each input that does not exist now; the files are valid, but a run would fail."""
    whole: Plan | None = None
    """The plan of all jobs, including those that are left out."""

    def require(self) -> tuple[Project, Plan]:
        """Project and plan; raises `InvalidFiles` if there are errors."""
        if self.project is None or self.plan is None or self.whole is None:
            raise InvalidFiles(self.diagnostics)
        return self.project, replace(self.plan, definition=definition_of(self.whole))


def prepare(
    file: Path,
    *,
    env: Mapping[str, str] | None = None,
    project: Project | None = None,
    choices: Choices | None = None,
    recorded: Choices | None = None,
) -> Prepared:
    """Read a workflow, and its project unless given, and plan the chosen part of it.

    The `recorded` choices of an earlier run apply where `choices` has none; they may name variables that are gone.
    """
    given = choices or Choices()
    choices = given.over(recorded) if recorded else given
    findings = Findings()
    project = _project(file, env, project, choices, findings)
    variables = project.variables if project else {}
    boundary = _boundary(file, project)
    loaded = spec.load(file, env=env, boundary=boundary, variables=variables, given=choices.variables)
    findings.extend(loaded.diagnostics)
    findings.settle(loaded.settled)
    findings.extend(weak_secrets(loaded.secrets))
    secrets = (*(project.secrets if project else ()), *(secret.value for secret in loaded.secrets))
    values = {name: value.text for name, value in variables.items()}
    values |= {name: text for name, text in loaded.variables.items() if text is not None}
    if project:
        findings.extend(project.warnings)
        project = replace(project, secrets=tuple(dict.fromkeys(secrets)))
        findings.extend(unknown(given.variables, project.variables, loaded.variables))
    hide = Redactor(secrets)
    findings.extend(_secret_values(values, hide))
    workflow = loaded.workflow
    plan = draft(workflow, project, findings) if workflow and project else None
    diagnostics = hide.diagnostics(findings.in_order(str(file)))
    failed = any(each.is_error for each in diagnostics)
    whole = None if failed else plan
    if workflow and project and whole:
        plan = _chosen(whole, workflow, project, replace(choices, variables=values))
    missing = hide.diagnostics(tuple(warn_missing(plan)) if plan else ())
    of_project = project.file if project and project.file else loading.find(file)[0] / loading.FILE
    files = (of_project, *loaded.files)
    return Prepared(project, workflow, None if failed else plan, diagnostics, secrets, files, missing, whole)


def _chosen(whole: Plan, workflow: Workflow, project: Project, choices: Choices) -> Plan:
    """The plan of the chosen jobs. The whole workflow has no errors, so no part of it has any."""
    chosen = cut(workflow, choices)
    names = {job.name for job in chosen.jobs}
    plan = whole if chosen is workflow else draft(chosen, project, Findings()) or whole
    left_out = tuple(job.name for job in whole.jobs if job.name not in names)
    return replace(plan, choices=replace(choices, environment=project.environment, left_out=left_out))


def _secret_values(values: Mapping[str, str], hide: Redactor) -> Iterator[Diagnostic]:
    """An error for each variable that was given a secret: variables are recorded and shown."""
    for name in (each for each, value in values.items() if hide.finds(value)):
        message = f"the value of the variable `{name}` is a secret, and variables are recorded and shown"
        hint = "write `${secret:NAME}` or `${file:PATH}` where the secret is needed"
        yield Diagnostic("secret-in-variable", message, None, hint)


def build(workflow: Workflow, project: Project) -> tuple[Plan | None, tuple[Diagnostic, ...]]:
    """The plan of a workflow, and its problems."""
    findings = Findings()
    plan = draft(workflow, project, findings)
    diagnostics = findings.in_order(workflow.file)
    return (None if any(each.is_error for each in diagnostics) else plan), diagnostics


def _boundary(file: Path, project: Project | None) -> Boundary:
    """The directories from which the workflow may include files."""
    return Boundary.around(project.root, project.include_paths) if project else Boundary.around(loading.find(file)[0])


def _project(
    file: Path, env: Mapping[str, str] | None, given: Project | None, choices: Choices, findings: Findings
) -> Project | None:
    """The project of a file, or the given one, with the values that were chosen for its variables."""
    if given is not None and not any(name in given.variables for name in choices.variables):
        return given
    start, environment = (given.file or given.root, given.environment) if given else (file, choices.environment)
    try:
        return loading.load(start, env=env, environment=environment, variables=choices.variables)
    except InvalidFiles as error:
        findings.extend(error.diagnostics)
        return None

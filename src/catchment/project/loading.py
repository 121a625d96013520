"""Finds and reads `catchment.yaml`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os.path import realpath
from pathlib import Path

from catchment.errors import Diagnostic, InvalidFiles, Position, Severity
from catchment.project import environments
from catchment.project.canonical import Canonical
from catchment.project.depots import kinds_on_disk
from catchment.project.grammar import ProjectFile
from catchment.project.model import Engine, Project, home_in
from catchment.project.places import default_metastore, metastore_url
from catchment.project.secrets import Redactor, weak_secrets
from catchment.spec.document import read_file, read_text
from catchment.spec.findings import Findings
from catchment.spec.references import References
from catchment.spec.tree import MapNode, Node, follow
from catchment.spec.validation import parse
from catchment.spec.variables import values_of

FILE = "catchment.yaml"


def load(
    start: Path,
    *,
    env: Mapping[str, str] | None = None,
    environment: str | None = None,
    variables: Mapping[str, str] | None = None,
) -> Project:
    """The project that a file or directory belongs to; raises `InvalidFiles` with every problem of its file.

    `variables` are values for variables; those that the project does not declare may belong to a workflow.
    """
    directory, file = find(start)
    if file is not None:
        return _read(file, os.environ if env is None else env, environment, variables or {})
    if environment is not None:
        environments.require(environment, ())
    metastore = metastore_url(default_metastore(None), directory)
    return Project(directory, None, metastore, kinds_on_disk(home_in(directory, None)), {"default": Engine("default")})


def find(start: Path) -> tuple[Path, Path | None]:
    """The root of the project that a file or directory belongs to, and its project file if it has one."""
    # Not `Path.resolve`, which raises before Python 3.13 if a link points to itself.
    start = Path(realpath(start))
    directory = start if start.is_dir() else start.parent
    file = next((found for place in (directory, *directory.parents) if os.path.lexists(found := place / FILE)), None)
    return (file.parent if file else directory), file


def _read(file: Path, env: Mapping[str, str], environment: str | None, given: Mapping[str, str]) -> Project:
    findings = Findings()
    document = read_text(read_file(file), _display_path(file), findings)
    known = environments.names(document.root)
    if environment is not None:
        environments.require(environment, known)
    findings.extend(environments.check(document.root))
    reading = _Reading(file, document.root, env, given)
    project = reading.project(environment, findings)
    if environment is not None:
        others = [reading.quietly(each) for each in (None, *known) if each != environment]
        findings.extend(_shared_metastore(project, others, document.key_where(["environments", environment])))
        project = replace(project, shared_depots=_shared_depots(project, others[0]))
    found = Redactor(project.secrets).diagnostics(findings.in_order(document.file))
    if any(each.is_error for each in found):
        raise InvalidFiles(found)
    return replace(project, warnings=found, environments=known)


@dataclass(frozen=True)
class _Reading:
    """Reads one project file for any of its environments."""

    file: Path
    root: Node
    env: Mapping[str, str]
    given: Mapping[str, str]

    def project(self, environment: str | None, findings: Findings) -> Project:
        """The project in an environment, which is valid only if no error was found."""
        references = References(self.env, findings, self._included, bare_names=False)
        declared = environments.variables(self.root, environment, references)
        values = values_of(declared, self.given, findings)
        references.variables = {name: values.get(name) for name in environments.variable_names(self.root)}
        node = references.fill(environments.within(self.root, environment))
        entry, problems = _parse(node)
        findings.extend(problems)
        project = Canonical(self.file, node, findings, environment).project(entry)
        findings.extend(weak_secrets(references.secrets))
        secrets = [secret.value for secret in references.secrets]
        findings.extend(_plain_webhooks(project, node, secrets))
        secrets += [hook.webhook for hook in project.notify if hook.webhook]
        return replace(project, secrets=tuple(dict.fromkeys(secrets)), variables=values)

    def quietly(self, environment: str | None) -> Project:
        """The project in another environment; problems are ignored, because its secrets may not be set here."""
        return self.project(environment, Findings())

    def _included(self, name: str, where: Position) -> str:
        return read_file(self.file.parent / name, where)


def _plain_webhooks(project: Project, node: Node, secrets: Sequence[str]) -> Iterator[Diagnostic]:
    """A warning for each webhook that is written out: anyone who knows its address can use it."""
    for hook in (each for each in project.notify if each.webhook):
        if not any(secret in str(hook.webhook) for secret in secrets):
            where = follow(node, ["notify", hook.name, "webhook"]).node.where
            message = f"the webhook of `{hook.name}` is a secret, and is written out in the file"
            hint = "write ${secret:NAME} or ${file:PATH}"
            yield Diagnostic("plain-secret", message, where, hint, Severity.WARNING)


def _shared_metastore(project: Project, others: Iterable[Project], where: Position) -> Iterator[Diagnostic]:
    """An error if an environment shares its metastore with another: states, leases and ledgers would mix."""
    for other in (each for each in others if each.metastore == project.metastore):
        whose = f"environment `{other.environment}`" if other.environment else "the project without an environment"
        message = f"environment `{project.environment}` has the same metastore as {whose}"
        hint = "give it a `metastore` of its own, because the states and writes of two environments must not mix"
        yield Diagnostic("metastore-shared", message, where, hint)
        return


def _shared_depots(project: Project, base: Project) -> frozenset[str]:
    """The depots that are in the same place inside and outside the environment."""
    places = {name: replace(depot, where=None) for name, depot in base.depots.items()}
    return frozenset(name for name, each in project.depots.items() if places.get(name) == replace(each, where=None))


def _parse(node: Node) -> tuple[ProjectFile, list[Diagnostic]]:
    """Parse the file; broken entries are left out, so that they do not hide the problems of others."""
    whole, problems = parse(ProjectFile, node)
    if whole is not None:
        return whole, problems
    parts = [part for piece in _pieces(node) if (part := parse(ProjectFile, piece)[0])]
    rest = ProjectFile(
        metastore=next((part.metastore for part in parts if part.metastore is not None), None),
        engines={name: engine for part in parts for name, engine in part.engines.items()},
        depots={name: depot for part in parts for name, depot in part.depots.items()},
        maintain={name: each for part in parts for name, each in part.maintain.items()},
        notify={name: each for part in parts for name, each in part.notify.items()},
    )
    return rest, problems


def _pieces(node: Node) -> Iterator[MapNode]:
    """Copies of the file, each with only one of its entries."""
    if not isinstance(node, MapNode):
        return
    for key, section in node.entries.items():
        if isinstance(section.node, MapNode):
            for name, entry in section.node.entries.items():
                alone = replace(section.node, entries={name: entry})
                yield replace(node, entries={key: replace(section, node=alone)})
        else:
            yield replace(node, entries={key: section})


def _display_path(file: Path) -> str:
    """The path of the file for messages: relative if it is below the working directory."""
    here = Path.cwd()
    return str(file.relative_to(here) if file.is_relative_to(here) else file)

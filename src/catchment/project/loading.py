"""Finds and reads `catchment.yaml`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from os.path import realpath
from pathlib import Path

from catchment.errors import Diagnostic, InvalidFiles
from catchment.project.canonical import Canonical
from catchment.project.depots import kinds_on_disk
from catchment.project.grammar import DEFAULT_METASTORE, ProjectFile
from catchment.project.model import Engine, Project
from catchment.project.places import metastore_url
from catchment.project.secrets import Redactor, weak_secrets
from catchment.spec.document import read_file, read_text
from catchment.spec.findings import Findings
from catchment.spec.references import References
from catchment.spec.tree import MapNode, Node
from catchment.spec.validation import parse

FILE = "catchment.yaml"


def load(start: Path, *, env: Mapping[str, str] | None = None) -> Project:
    """The project that a file or directory belongs to; raises `InvalidFiles` with every problem of its file."""
    directory, file = find(start)
    if file is None:
        metastore = metastore_url(DEFAULT_METASTORE, directory)
        return Project(directory, None, metastore, kinds_on_disk(directory), {"default": Engine("default")})
    return _read(file, os.environ if env is None else env)


def find(start: Path) -> tuple[Path, Path | None]:
    """The root of the project that a file or directory belongs to, and its project file if it has one."""
    # Not `Path.resolve`, which raises before Python 3.13 if a link points to itself.
    start = Path(realpath(start))
    directory = start if start.is_dir() else start.parent
    file = next((found for place in (directory, *directory.parents) if os.path.lexists(found := place / FILE)), None)
    return (file.parent if file else directory), file


def _read(file: Path, env: Mapping[str, str]) -> Project:
    findings = Findings()
    document = read_text(read_file(file), _display_path(file), findings)
    references = References(env, findings, lambda name, where: read_file(file.parent / name, where), bare_names=False)
    node = references.fill(document.root)
    entry, problems = _parse(node)
    findings.extend(problems)
    project = Canonical(file, node, findings).project(entry)
    findings.extend(weak_secrets(references.secrets))
    secrets = tuple(dict.fromkeys(secret.value for secret in references.secrets))
    found = Redactor(secrets).diagnostics(findings.in_order(document.file))
    if any(each.is_error for each in found):
        raise InvalidFiles(found)
    return replace(project, secrets=secrets, warnings=found)


def _parse(node: Node) -> tuple[ProjectFile, list[Diagnostic]]:
    """Parse the file; broken entries are left out, so that they do not hide the problems of others."""
    whole, problems = parse(ProjectFile, node)
    if whole is not None:
        return whole, problems
    parts = [part for piece in _pieces(node) if (part := parse(ProjectFile, piece)[0])]
    rest = ProjectFile(
        metastore=next((part.metastore for part in parts if "metastore" in part.model_fields_set), DEFAULT_METASTORE),
        engines={name: engine for part in parts for name, engine in part.engines.items()},
        depots={name: depot for part in parts for name, depot in part.depots.items()},
        maintain={name: each for part in parts for name, each in part.maintain.items()},
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

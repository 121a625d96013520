"""Finding and reading `catchment.yaml`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from catchment.errors import Diagnostic, InvalidFiles, Position
from catchment.project.canonical import Canonical, metastore_url
from catchment.project.grammar import DEFAULT_METASTORE, ProjectFile
from catchment.project.model import Engine, Project
from catchment.project.references import References
from catchment.project.secrets import Redactor
from catchment.spec.document import read_file, read_text
from catchment.spec.validation import parse

FILE = "catchment.yaml"


def load(start: Path, *, env: Mapping[str, str] | None = None) -> Project:
    """The project that a file or directory belongs to; raises `InvalidFiles` with every problem of its file."""
    start = start.resolve()
    directory = start if start.is_dir() else start.parent
    file = next((found for place in (directory, *directory.parents) if (found := place / FILE).is_file()), None)
    if file is None:
        return Project(directory, None, metastore_url(DEFAULT_METASTORE, directory), {}, {"default": Engine("default")})
    return _read(file, os.environ if env is None else env)


def _read(file: Path, env: Mapping[str, str]) -> Project:
    document = read_text(read_file(file), _shown(file))
    references = References(file.parent, env)
    node = references.resolve(document.root)
    entry, problems = parse(ProjectFile, node)
    canonical = Canonical(file, node)
    project = canonical.project(entry, tuple(dict.fromkeys(references.secrets))) if entry else None
    # A value whose reference failed is not judged a second time.
    told = {problem.where for problem in references.problems}
    problems = references.problems + [each for each in (*problems, *canonical.problems) if each.where not in told]
    if problems or project is None:
        raise InvalidFiles(_redacted(problems, references.secrets))
    return project


def _shown(file: Path) -> str:
    """How people name the file: from where they stand, if it lies below."""
    here = Path.cwd()
    return str(file.relative_to(here) if file.is_relative_to(here) else file)


def _redacted(problems: list[Diagnostic], secrets: list[str]) -> list[Diagnostic]:
    redactor = Redactor(secrets)
    found = {
        Diagnostic(each.code, redactor.text(each.message), each.where, each.hint and redactor.text(each.hint))
        for each in problems
    }
    start = Position("", 0, 0)
    return sorted(found, key=lambda each: (each.where or start, each.code))

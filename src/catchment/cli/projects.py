"""Opens projects for the verbs and remembers their secrets, so that nothing printed later shows them."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click

from catchment.cli import options
from catchment.errors import RequestError
from catchment.run_model import Choices

if TYPE_CHECKING:
    from catchment.plan.preparation import Prepared
    from catchment.project.model import Project

SECRETS = "catchment.secrets"


class Redacts(Protocol):
    def text(self, text: str, /) -> str: ...

    def data(self, data: Any, /) -> Any: ...


def open_project(start: Path) -> Project:
    """The project that `start` belongs to, in the requested environment."""
    from catchment import project

    if not start.exists():
        raise RequestError(f"there is no file or directory {start}", code="file-not-found", hint="check the path")
    found = project.load(start, environment=environment())
    remember(found.secrets)
    return replace(found, attended=_is_attended())


def _is_attended() -> bool:
    """Whether a person is waiting for this command."""
    return sys.stderr.isatty() and not os.environ.get("CI")


def environment() -> str | None:
    """The requested environment; None if none was requested."""
    name: str | None = click.get_current_context().meta.get(options.ENVIRONMENT)
    return name


def chosen_project(where: Path) -> Project | None:
    """The project that `--project` names; None if it was not given."""
    return open_project(where) if options.given("where") else None


def prepare(
    file: Path, project: Project | None = None, choices: Choices | None = None, recorded: Choices | None = None
) -> Prepared:
    """A workflow file, its project (if none is given, the one it belongs to) and its plan, with every problem found."""
    from catchment import plan

    asked = replace(choices or Choices(), environment=environment())
    prepared = plan.prepare(file, project=project, choices=asked, recorded=recorded)
    remember(prepared.secrets)
    return replace(prepared, project=prepared.project and replace(prepared.project, attended=_is_attended()))


def redactor(ctx: click.Context | None = None) -> Redacts:
    """Masks the secrets of the projects and workflows opened so far."""
    from catchment.project.secrets import Redactor

    return Redactor((ctx or click.get_current_context()).meta.get(SECRETS, ()))


def explain(line: str) -> None:
    """With --debug, print on standard error why something is done the way it is."""
    context = click.get_current_context()
    if context.meta.get(options.DEBUG):
        click.echo(redactor(context).text(line), err=True)


def remember(secrets: Sequence[str]) -> None:
    """Mask these values in everything that is printed from now on."""
    meta = click.get_current_context().meta
    meta[SECRETS] = (*meta.get(SECRETS, ()), *secrets)

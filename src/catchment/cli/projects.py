"""Opens projects for the verbs and remembers their secrets, so that nothing printed later shows them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click

from catchment.cli.options import DEBUG
from catchment.errors import RequestError

if TYPE_CHECKING:
    from catchment.plan.preparation import Prepared
    from catchment.project.model import Project

SECRETS = "catchment.secrets"


class Redacts(Protocol):
    def text(self, text: str, /) -> str: ...

    def data(self, data: Any, /) -> Any: ...


def open_project(start: Path) -> Project:
    """The project that `start` belongs to."""
    from catchment import project

    if not start.exists():
        raise RequestError(f"there is no file or directory {start}", code="file-not-found", hint="check the path")
    found = project.load(start)
    remember(found.secrets)
    return found


def prepare(file: Path, project: Project | None = None) -> Prepared:
    """A workflow file, its project (if none is given, the one it belongs to) and its plan, with every problem found."""
    from catchment import plan

    prepared = plan.prepare(file, project=project)
    remember(prepared.secrets)
    return prepared


def redactor(ctx: click.Context | None = None) -> Redacts:
    """Masks the secrets of the projects and workflows opened so far."""
    from catchment.project.secrets import Redactor

    return Redactor((ctx or click.get_current_context()).meta.get(SECRETS, ()))


def explain(line: str) -> None:
    """Print on standard error, with --debug, why something is done as it is."""
    context = click.get_current_context()
    if context.meta.get(DEBUG):
        click.echo(redactor(context).text(line), err=True)


def remember(secrets: Sequence[str]) -> None:
    """Mask these values in everything that is printed from now on."""
    meta = click.get_current_context().meta
    meta[SECRETS] = (*meta.get(SECRETS, ()), *secrets)

"""Completes arguments and options with names from the project, the workflow file and the metastore.

A shell requests completions while the user types, so they start nothing, create nothing and report no errors.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from catchment.cli import options
from catchment.errors import CatchmentError

if TYPE_CHECKING:
    from catchment.project.model import Project
    from catchment.spec.model import Workflow
    from catchment.store import Store

MOST = 200
"""How many names are offered at most."""

Completer = Callable[[click.Context, str], Iterable[str]]


def attach(command: click.Command) -> None:
    """Add completion to the arguments and options of a verb, and of the verbs in it."""
    for param in command.params:
        known = (_OF_PARAMETERS.get((verb, param.name)) for verb in (command.name, None))
        if (completer := next(filter(None, known), None)) is not None:
            setattr(param, "shell_complete", partial(_items, completer))  # noqa: B010 - a method of click's
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            inner = command.get_command(click.Context(command), name)
            if inner is not None:
                attach(inner)
                _attach_of_group(command, inner)


def _attach_of_group(group: click.Group, command: click.Command) -> None:
    for param in command.params:
        if (completer := _OF_GROUPS.get((group.name, param.name))) is not None:
            setattr(param, "shell_complete", partial(_items, completer))  # noqa: B010


def _items(completer: Completer, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
    try:
        found = sorted({each for each in completer(ctx, incomplete) if each.startswith(incomplete)})
    except (CatchmentError, OSError):
        return []
    return [CompletionItem(each) for each in found[:MOST]]


def addresses(ctx: click.Context, incomplete: str) -> Iterator[str]:
    """The address prefix of each depot, and the addresses of datasets that runs have written."""
    scheme = "lake://" if incomplete.startswith("l") else "dataos://"
    project = _project(ctx)
    yield from (place for name in project.depots if (place := f"{scheme}{name}:") != incomplete)
    with _metastore(project) as store:
        for address in store.runs.datasets(incomplete.replace("lake://", "dataos://", 1), MOST):
            yield address.replace("dataos://", scheme, 1)


def depots(ctx: click.Context, _: str) -> Iterable[str]:
    """The depots of the project."""
    return _project(ctx).depots


def engines(ctx: click.Context, _: str) -> Iterable[str]:
    """The engines of the project."""
    return _project(ctx).engines


def environments(ctx: click.Context, _: str) -> Iterable[str]:
    """The environments of the project."""
    from catchment import project

    return project.load(_start(ctx)).environments


def hooks(ctx: click.Context, _: str) -> Iterable[str]:
    """The hooks of the project."""
    return (hook.name for hook in _project(ctx).notify)


def runs(ctx: click.Context, _: str) -> Iterator[str]:
    """The newest runs."""
    with _metastore(_project(ctx)) as store:
        yield from (run.id for run in store.runs.newest(20))


def workflows(ctx: click.Context, _: str) -> Iterator[str]:
    """The workflows that have run."""
    with _metastore(_project(ctx)) as store:
        yield from (run.workflow for run in store.runs.newest(MOST))


def services(ctx: click.Context, _: str) -> Iterator[str]:
    """The services of the project."""
    with _metastore(_project(ctx)) as store:
        yield from (service.order.name for service in store.services.all())


def jobs(ctx: click.Context, incomplete: str) -> Iterator[str]:
    """The jobs and tags of the workflow file, also after a `+`."""
    workflow = _workflow(ctx)
    plus = "+" if incomplete.startswith("+") else ""
    for job in workflow.jobs if workflow else ():
        yield from (f"{plus}{job.name}", *(f"{plus}tag:{tag}" for tag in job.tags))


def jobs_of_run(ctx: click.Context, _: str) -> Iterator[str]:
    """The jobs of the run, or of the newest one."""
    with _metastore(_project(ctx)) as store:
        named = _argument(ctx, "run_id") or next((each.id for each in store.runs.newest(1)), "")
        yield from (job.name for job in store.runs.jobs(named))


def jobs_with_state(ctx: click.Context, _: str) -> Iterator[str]:
    """The incremental jobs of the workflow."""
    with _metastore(_project(ctx)) as store:
        yield from (state.job for state in store.states.all(_argument(ctx, "workflow")))


def inputs_with_state(ctx: click.Context, _: str) -> Iterator[str]:
    """The incremental inputs of the job."""
    with _metastore(_project(ctx)) as store:
        named = _argument(ctx, "workflow"), ctx.params.get("job")
        yield from (state.input for state in store.states.all(*named))


def variables(ctx: click.Context, _: str) -> Iterator[str]:
    """The variables of the project and of the workflow file."""
    from catchment import spec

    names = set(_project(ctx).variables)
    if (file := _argument(ctx, "file")) is not None:
        names |= set(spec.load(Path(file), env=os.environ).variables)
    yield from (f"{name}=" for name in names)


_OF_PARAMETERS: Mapping[tuple[str | None, str | None], Completer] = {
    (None, "address"): addresses,
    (None, "depot"): depots,
    (None, "engine"): engines,
    (None, "engines"): engines,
    (None, "environment"): environments,
    (None, "notify"): hooks,
    (None, "run_id"): runs,
    (None, "earlier"): runs,
    (None, "workflow"): workflows,
    (None, "select"): jobs,
    (None, "exclude"): jobs,
    (None, "variables"): variables,
    ("logs", "job"): jobs_of_run,
}
"""Completers by verb (None for every verb) and parameter."""
_OF_GROUPS: Mapping[tuple[str | None, str | None], Completer] = {
    ("services", "name"): services,
    ("state", "job"): jobs_with_state,
    ("state", "input"): inputs_with_state,
}
"""Completers by group of verbs and parameter."""


def _start(ctx: click.Context) -> Path:
    """The path from which the command itself would look for the project."""
    where, file = ctx.params.get("where"), _argument(ctx, "file")
    return Path(file) if file is not None and where in (None, Path()) else Path(where or ".")


def _project(ctx: click.Context) -> Project:
    from catchment import project

    environment = ctx.meta.get(options.ENVIRONMENT) or os.environ.get(options.ENVIRONMENT_VARIABLE)
    return project.load(_start(ctx), environment=environment)


@contextmanager
def _metastore(project: Project) -> Iterator[Store]:
    from catchment.store import read_store

    with read_store(project.metastore) as store:
        yield store


def _workflow(ctx: click.Context) -> Workflow | None:
    from catchment import spec

    file = _argument(ctx, "file")
    return spec.load(Path(file), env=os.environ).workflow if file is not None else None


def _argument(ctx: click.Context, name: str) -> str | None:
    """An argument of the verb. While an option has no value yet, click leaves the arguments before it unparsed."""
    if all(param.name != name for param in ctx.command.params):
        return None
    found = ctx.params.get(name) or next(iter(ctx.args), None)
    return None if found is None else str(found)

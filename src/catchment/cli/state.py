"""`catchment state ls|show|set|reset|export|import`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click

from catchment.cli import interaction, options, printing, projects
from catchment.errors import RequestError

if TYPE_CHECKING:
    from catchment.run.incremental_state import StateChange
    from catchment.store.states import State, Window

_STATES = ("workflow", "job", "input", "state", "zone", "changed", "by")
_WINDOWS = ("window", "cause", "status", "input", "read", "then", "opened", "finished", "by")
_CHANGES = ("workflow", "job", "input", "before", "after")


@click.group()
def state() -> None:
    """Show, set, export and import the state of incremental jobs."""


def _dry_run(command: options.Command) -> options.Command:
    return click.option("--dry-run", is_flag=True, help="Show what would be done without doing it.")(command)


def _yes(command: options.Command) -> options.Command:
    return click.option("--yes", is_flag=True, help="Do it without asking for confirmation.")(command)


def _drop_written(command: options.Command) -> options.Command:
    text = "Drop an unfinished window even if some of its rows are in a table; they stay there."
    return click.option("--drop-written", is_flag=True, help=text)(command)


@state.command("ls")
@click.argument("workflow", required=False)
@options.reporting
def ls(workflow: str | None, where: Path, output: str) -> None:
    """List the state of every incremental input, or of those of one workflow."""
    from catchment.run import incremental_state

    found = incremental_state.ls(projects.open_project(where), workflow)
    if output == "json":
        printing.echo_json({"states": [_state_data(each) for each in found]})
    elif found:
        printing.echo_table(_STATES, (_state_row(each) for each in found))
    else:
        printing.tell("no incremental job has a state yet")


@state.command("show")
@click.argument("workflow")
@click.argument("job")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="Show at most this many windows.")
@options.reporting
def show(workflow: str, job: str, limit: int, where: Path, output: str) -> None:
    """Show the state of a job and the windows it has read, newest first."""
    from catchment.run import incremental_state

    found, windows = incremental_state.show(projects.open_project(where), workflow, job, limit)
    if output == "json":
        data = {"states": [_state_data(each) for each in found], "windows": [_window_data(each) for each in windows]}
        printing.echo_json(data)
        return
    if found:
        printing.echo_table(_STATES, (_state_row(each) for each in found))
        click.echo()
    else:
        printing.tell("no state yet: the next run starts like the first one")
    printing.echo_table(_WINDOWS, (row for each in windows for row in _window_rows(each)))


@state.command("set")
@click.argument("workflow")
@click.argument("job")
@click.argument("input")
@click.argument("keys", metavar="KEY=VALUE...", nargs=-1, required=True)
@click.option("--new", is_flag=True, help="Set the state of a job or input that has not run yet.")
@click.option("--zone", default="", help="The session time zone of timestamps.  [default: the state's own, or UTC]")
@_drop_written
@_dry_run
@_yes
@options.reporting
def set_(
    workflow: str,
    job: str,
    input: str,
    keys: Sequence[str],
    zone: str,
    where: Path,
    output: str,
    *,
    new: bool,
    drop_written: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    """Set the state that the next run of a job continues from.

    An unfinished window is dropped.
    """
    from catchment.run import incremental_state
    from catchment.store.states import State

    wanted = State(workflow, job, input, _parsed(keys), zone)
    project = projects.open_project(where)
    change = partial(incremental_state.set_keys, project, wanted, new=new, drop_written=drop_written)
    _apply(change, output, dry_run=dry_run, yes=yes)


@state.command("reset")
@click.argument("workflow")
@click.argument("job")
@click.argument("input", required=False)
@_drop_written
@_dry_run
@_yes
@options.reporting
def reset(
    workflow: str,
    job: str,
    input: str | None,
    where: Path,
    output: str,
    *,
    drop_written: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    """Remove the state of a job, or of one of its inputs: the next run starts like the first one."""
    from catchment.run import incremental_state

    project = projects.open_project(where)
    change = partial(incremental_state.reset, project, workflow, job, input, drop_written=drop_written)
    _apply(change, output, dry_run=dry_run, yes=yes)


@state.command("export")
@click.argument("workflow", required=False)
@options.project
@options.debug
def export(workflow: str | None, where: Path) -> None:
    """Print states as JSON for `state import`."""
    from catchment.run import incremental_state

    printing.echo_json({"states": incremental_state.export(projects.open_project(where), workflow)})


@state.command("import")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@_drop_written
@_dry_run
@_yes
@options.reporting
def import_(file: Path, where: Path, output: str, *, drop_written: bool, dry_run: bool, yes: bool) -> None:
    """Import states that `state export` printed; FILE may be - for standard input."""
    from catchment.run import incremental_state

    project, wanted = projects.open_project(where), _read(_content(file))
    change = partial(incremental_state.import_states, project, wanted, drop_written=drop_written)
    _apply(change, output, dry_run=dry_run, yes=yes)


class _Change(Protocol):
    def __call__(self, *, dry_run: bool) -> Sequence[StateChange]: ...


def _apply(change: _Change, output: str, *, dry_run: bool, yes: bool) -> None:
    """Show what would change, ask for confirmation, change it, and print what was changed."""
    if not dry_run and not yes:
        _echo_changes(change(dry_run=True), "text", dry_run=True, err=True)
        interaction.require("Change the state?")
    _echo_changes(change(dry_run=dry_run), output, dry_run=dry_run)


def _echo_changes(changes: Sequence[StateChange], output: str, *, dry_run: bool = False, err: bool = False) -> None:
    if output == "json":
        printing.echo_json({"dry_run": dry_run, "changes": [asdict(each) for each in changes]})
        return
    for each in changes:
        changes_to = "would change" if dry_run else "changed"
        dropped = f"; unfinished windows dropped: {each.dropped}" if each.dropped else ""
        name = f"{each.workflow} {each.job} {each.input}"
        text = f"{name}: {changes_to} from {_keys(each.before)} to {_keys(each.after)}{dropped}"
        click.echo(projects.redactor().text(text), err=err)


def _parsed(keys: Sequence[str]) -> dict[str, str]:
    parsed = dict(each.partition("=")[::2] for each in keys)
    if any("=" not in each for each in keys) or not all(parsed) or not all(parsed.values()):
        raise click.UsageError("write keys as KEY=VALUE, for example start='2024-01-01 00:00:00'")
    return parsed


def _content(file: Path) -> str:
    """The text of a file or of standard input; the size of both is limited."""
    from catchment.spec.document import MAX_BYTES, read_file

    hint = "export one workflow at a time: `catchment state export WORKFLOW`"
    if str(file) != "-":
        return read_file(file, too_large=hint)
    content = sys.stdin.buffer.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        limit = f"{MAX_BYTES // 1024 // 1024} MiB"
        raise RequestError(f"standard input is larger than {limit}", code="file-too-large", hint=hint)
    return content.decode("utf-8-sig", errors="surrogateescape")


def _read(text: str) -> list[State]:
    from pydantic import TypeAdapter, ValidationError

    from catchment.store.states import State

    try:
        return TypeAdapter(dict[str, list[State]]).validate_python(json.loads(text))["states"]
    except (ValueError, ValidationError, KeyError, RecursionError) as error:
        raise RequestError(
            "the file is not what `catchment state export` prints",
            code="bad-state-file",
            hint='it is JSON: {"states": [{"workflow": …, "job": …, "input": …, "keys": {…}, "zone": "UTC"}]}',
        ) from error


def _keys(keys: Mapping[str, str] | None) -> str:
    return ", ".join(f"{key} = {value}" for key, value in keys.items()) if keys else "the beginning"


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="seconds")


def _state_data(state: State) -> Mapping[str, Any]:
    return {**asdict(state), "changed": _time(state.changed)}


def _window_data(window: Window) -> Mapping[str, Any]:
    times = {"opened": _time(window.opened), "finished": _time(window.finished)}
    return {**asdict(window), **times, "opened_by": window.opened_by}


def _state_row(state: State) -> tuple[object, ...]:
    return (
        *(state.workflow, state.job, state.input, _keys(state.keys)),
        *(state.zone, _time(state.changed), state.changed_by),
    )


def _window_rows(window: Window) -> Iterable[tuple[object, ...]]:
    for name, part in window.inputs.items():
        # Only a person moves a state back to the beginning; a run or a backfill leaves it as it is.
        then = _keys(part.after) if part.after or window.person else "stays"
        yield (
            *(window.number, window.cause, window.status, name, _keys(part.values), then),
            *(_time(window.opened), _time(window.finished), window.opened_by),
        )

"""`catchment maintain`: looks after all tables of the lake."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from catchment.cli import detaching, error_report, interaction, options, printing, projects
from catchment.errors import RequestError


@click.command()
@click.option("--once", is_flag=True, help="Do what is needed now, and end.")
@click.option("--cores", type=click.IntRange(min=1), help="Use at most this many cores.")
@click.option("--max-bytes-per-hour", "limit", metavar="SIZE", help="Rewrite at most this much in an hour: 50GB.")
@options.detach
@options.reporting
def maintain(where: Path, output: str, cores: int | None, limit: str | None, *, once: bool) -> None:
    """Compact every table of the lake that needs it, those with the most to do first, until it is stopped.

    `maintain:` in catchment.yaml says when a table needs it, and how long its snapshots are kept.
    """
    from catchment.run.compaction import cores as limits
    from catchment.run.compaction import whole_lake

    found = projects.open_project(where)
    project = found if cores is None else limits.with_cores(found, cores)
    size = None if limit is None else _size(limit)
    if detaching.detached("lake", project, output=output):
        return
    with interaction.stop_on_signal() as stop:
        facts = whole_lake.maintain(project, once=once, bytes_per_hour=size, stop=stop, tell=_tell)
    shown = projects.redactor().data(facts)
    if output == "json":
        printing.echo_json(shown)
    else:
        _echo(shown)
    if stop.is_set() and once:
        raise click.exceptions.Exit(error_report.INTERRUPTED)
    if once and has_failed(facts):  # without --once, it is tried again
        raise click.exceptions.Exit(error_report.JOB_FAILED)


def _size(text: str) -> int:
    from catchment.project.sizes import parse_size

    try:
        size = parse_size(text)
    except ValueError as error:
        raise RequestError(f"`{text}` is no size", code="bad-option", hint="for example 50GB or 512 MB") from error
    if size == 0:
        raise RequestError(
            "with a budget of 0 bytes nothing would ever be compacted",
            code="threshold-never-met",
            hint="write a size above zero, or leave --max-bytes-per-hour out",
        )
    return size


def _tell(line: str) -> None:
    printing.tell(projects.redactor().text(line))


def has_failed(facts: Mapping[str, Any]) -> bool:
    """Whether something could not be looked at or compacted."""
    return bool(facts["errors"]) or any(each["failed"] for each in facts["tables"])


def _echo(facts: Mapping[str, Any]) -> None:
    worked = [each for each in facts["tables"] if each["rewritten_files"] or each["expired"] or each["failed"]]
    if worked:
        columns = ("address", "rewritten_files", "added_files", "rewritten_bytes", "failed", "expired")
        printing.echo_table(columns, ([each[name] for name in columns] for each in worked))
    elif not facts["errors"]:
        click.echo(f"nothing to do in {len(facts['tables'])} tables")
    for error in facts["errors"]:
        click.echo(f"{error['address']}: error[{error['code']}]")

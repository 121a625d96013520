"""`catchment doctor`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from catchment.cli import failures, options, printing, secrecy

if TYPE_CHECKING:
    from catchment.cli import checks

_COLORS = {"ok": "green", "problem": "red", "unknown": "yellow"}


@click.command()
@options.reporting
def doctor(where: Path, output: str) -> None:
    """Check Java, packages, metastore, depots and disk, and say what to do about each problem."""
    from catchment.cli import checks

    found = list(checks.every(secrecy.open_project(where), printing.tell))
    hide = secrecy.redactor()
    if output == "json":
        printing.echo_json(hide.data({"checks": [asdict(check) for check in found]}))
    else:
        for check in found:
            click.echo(hide.text(_line(check)))
    if any(check.status == "problem" for check in found):
        raise click.exceptions.Exit(failures.JOB_FAILED)


def _line(check: checks.Check) -> str:
    status = click.style(f"{check.status:8}", fg=_COLORS[check.status])
    hint = f"\n         {click.style('hint:', fg='cyan')} {check.hint}" if check.hint else ""
    return f"{status} {check.name}: {check.message}{hint}"

"""`catchment recover [ADDRESS]`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from catchment.cli import error_report, options, printing, projects

if TYPE_CHECKING:
    from catchment.commit.recovery import Unfinished
    from catchment.store.decisions import Fate

_COLUMNS = ("table", "what", "which")


@click.command()
@click.argument("address", required=False)
@click.option("--dry-run", is_flag=True, help="Show what would be done without doing it.")
@click.option("--yes", is_flag=True, help="Remove the files of abandoned writes without asking.")
@click.option("--retry", multiple=True, metavar="WRITE", help="Try to publish a write again that was set aside.")
@click.option("--drop", multiple=True, metavar="WRITE", help="Give up a write that was set aside.")
@click.option(
    "--accept-as",
    multiple=True,
    type=(click.Choice(["committed", "lost"]), str),
    metavar="FATE WRITE",
    help="Say what became of a write whose fate is unknown: `committed` or `lost`.",
)
@click.option("--rebuild", is_flag=True, help="First make the ledger anew from the histories of the tables.")
@options.reporting
def recover(
    address: str | None,
    where: Path,
    output: str,
    *,
    dry_run: bool,
    yes: bool,
    retry: tuple[str, ...],
    drop: tuple[str, ...],
    accept_as: tuple[tuple[Fate, str], ...],
    rebuild: bool,
) -> None:
    """Finish or abandon the unfinished writes of lost engines, in one table or in all.

    Sealed writes are published. Open writes whose engine is lost are abandoned. The files of abandoned writes are
    removed once the table's history shows that nothing refers to them.
    """
    from catchment.run import recovery

    project = projects.open_project(where)
    decided = recovery.Decided(retry, drop, accept_as)
    if dry_run and (decided.any or rebuild):
        raise click.UsageError("--dry-run only looks: it takes none of --retry, --drop, --accept-as and --rebuild")
    recovery.decide(project, decided)
    learned = recovery.rebuild(project, address, tell=printing.tell) if rebuild else {}
    for table, lost in learned.items():
        printing.tell(f"{table}: {len(lost)} writes are recorded as committed again")
    every = recovery.look(project, address, printing.tell)
    found = [table for table in every if table.recoverable]
    if not found:
        printing.tell(_nothing(every))
        _echo({"dry_run": dry_run, "tables": [], "learned": learned}, output)
        return
    if dry_run:
        _echo({"dry_run": True, "tables": [_expected(table) for table in found], "learned": {}}, output)
        return
    remove = yes or _may_remove(found)
    todo = [table for table in found if (remove and table.buffers) or table.sealed or table.lost]
    facts = recovery.recover(project, todo, remove=remove, tell=printing.tell)
    done = {table["table"]: table for table in facts["tables"]}
    tables = [{**_kept(table), **done.get(table.target, {})} for table in found]
    _echo({"dry_run": False, "tables": tables, "learned": learned}, output)
    if any(table["error"] or table["refused"] for table in tables):
        raise click.exceptions.Exit(error_report.JOB_FAILED)


def _nothing(every: Sequence[Unfinished]) -> str:
    alive = sum(len(table.alive) for table in every)
    if not alive:
        return "nothing to recover"
    return f"nothing to recover: {alive} open writes belong to engines that are still alive"


def _may_remove(found: Sequence[Unfinished]) -> bool:
    """Ask whether files may be removed, if there are any and there is a terminal to ask on."""
    count = sum(len(table.buffers) for table in found)
    if not count:
        return False
    if not sys.stdin.isatty():
        printing.tell(f"the files of {count} abandoned writes are kept: --yes removes them")
        return False
    return click.confirm(f"Remove the files of {count} abandoned writes?", err=True)


def _expected(table: Unfinished) -> Mapping[str, Any]:
    """What recovery would do, in the shape of its result. Which writes would be refused is not known beforehand."""
    return {
        "table": table.target,
        "published": table.sealed,
        "refused": tuple(asdict(each) for each in table.set_aside),
        "abandoned": table.lost,
        "removed": table.buffers,
        "kept": (),
        "alive": table.alive,
        "error": None,
    }


def _kept(table: Unfinished) -> Mapping[str, Any]:
    """The result for a table that is left as it is."""
    return {**_expected(table), "published": (), "abandoned": (), "removed": (), "kept": table.buffers}


def _echo(facts: Mapping[str, Any], output: str) -> None:
    shown = projects.redactor().data(facts)
    if output == "json":
        printing.echo_json(shown)
    elif shown["tables"]:
        printing.echo_table(_COLUMNS, _rows(shown["tables"], dry_run=shown["dry_run"]))


def _rows(tables: Sequence[Mapping[str, Any]], *, dry_run: bool) -> Iterator[tuple[str, str, str]]:
    would = "would be " if dry_run else ""
    words = {
        "published": f"{would}published",
        "abandoned": f"{would}abandoned",
        "removed": f"{would}removed",
        "kept": "files kept",
        "alive": "engine is alive",
    }
    for table in tables:
        for key, word in words.items():
            yield from ((table["table"], word, which) for which in table[key])
        for each in table["refused"]:
            yield table["table"], f"refused: {each['code']}", f"{each['write_id']}: {_advice(each)}"
        if table["error"]:
            yield table["table"], f"failed: {table['error']['code']}", _advice(table["error"])


def _advice(error: Mapping[str, Any]) -> str:
    return "; ".join(part for part in (error["message"], error["hint"]) if part)

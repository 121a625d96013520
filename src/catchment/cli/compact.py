"""`catchment compact ADDRESS`: the dedicated compaction job, once or until it is stopped."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from catchment.cli import detaching, error_report, interaction, options, printing, projects
from catchment.errors import RequestError

if TYPE_CHECKING:
    from catchment.plan.model import Dataset, Partition, Rewrite
    from catchment.project.model import Project

SHOWN = 20
"""How many partitions are printed as text; JSON has all of them."""
_BY_WAREHOUSE = ("warehouse", "database", "table_name", "catalog_conf")
_EXAMPLES = """for example --partition day=2026-03-01,region=eu, or '"region=a,b",day=2026-03-01' with a comma"""
_OF_ONE_REWRITE = ("sort", "condition", "properties")
_AS_A_WHOLE = {
    "merges_manifests": "manifests would be merged",
    "expires_snapshots": "old snapshots that nobody needs would be expired",
}
"""What else a compaction would do, by its name in the report of a dry run."""


@click.command()
@click.argument("address", required=False)
@click.option("--partition", "partitions", multiple=True, metavar="K=V[,K2=V2]", help="Only this partition.")
@click.option(
    "--mode",
    type=click.Choice(("batch", "continuous")),
    default="batch",
    show_default=True,
    help="Once, or until it is stopped.",
)
@click.option("--wait", is_flag=True, help="Wait for another compaction of the table, instead of leaving.")
@click.option("--sort", metavar="ORDER", help="Sort the rows: 'col ASC NULLS LAST' or 'zorder(a, b)'.")
@click.option("--where", "condition", metavar="SQL", help="Only files that may hold such rows.")
@click.option("--property", "properties", multiple=True, metavar="KEY=VALUE", help="An option of the rewrite.")
@click.option("--warehouse", metavar="PATH", help="Instead of ADDRESS: the warehouse of a table nobody configured.")
@click.option("--database", metavar="DB", help="With --warehouse: its database.")
@click.option("--table", "table_name", metavar="T", help="With --warehouse: its table.")
@click.option("--catalog-conf", multiple=True, metavar="K=V", help="With --warehouse: a setting of its catalog.")
@click.option("--dry-run", is_flag=True, help="Show what would be compacted and why, and write nothing.")
@options.detach
@options.reporting
def compact(
    address: str | None,
    partitions: Sequence[str],
    mode: str,
    sort: str | None,
    condition: str | None,
    properties: Sequence[str],
    warehouse: str | None,
    database: str | None,
    table_name: str | None,
    catalog_conf: Sequence[str],
    where: Path,
    output: str,
    *,
    wait: bool,
    dry_run: bool,
) -> None:
    """Merge small files, delete files and files of level 0, in the partitions that need it.

    Writers neither wait for it nor fail because of it. Of a table whose writers never expire snapshots, the compaction
    expires them too. With --sort, --where or --property, everything they select is rewritten at once.
    """
    from catchment.run.compaction import compaction_job

    chosen = tuple(partition(text) for text in partitions)
    rewrite = _rewrite(sort, condition, properties, chosen)
    if mode == "continuous":
        given = options.given(*_OF_ONE_REWRITE, "wait", "dry_run")
        options.refuse(given, "a continuous compaction goes by thresholds and waits", "leave it out, or --mode batch")
    project, named = _target(where, address, warehouse, database, table_name, catalog_conf)
    subject = _subject(compaction_job.dataset_of(project, named))
    if not dry_run and detaching.detached(subject, project, output=output):
        return
    with interaction.stop_on_signal() as stop:
        facts = compaction_job.compact(
            project,
            named,
            partitions=chosen,
            rewrite=rewrite,
            mode="batch" if mode == "batch" else "continuous",
            wait=wait,
            dry_run=dry_run,
            stop=stop,
            tell=_tell,
        )
    shown = projects.redactor().data(facts)
    if output == "json":
        printing.echo_json(shown)
    else:
        echo(shown)
    if stop.is_set() and mode == "batch":
        raise click.exceptions.Exit(error_report.INTERRUPTED)
    left = facts.get("failed") or facts.get("failed_files")
    if left and mode == "batch":  # a continuous compaction tries again by itself
        raise click.exceptions.Exit(error_report.JOB_FAILED)


def _subject(table: Dataset) -> str:
    """What a service that compacts the table is named after."""
    return table.table or Path(table.path or table.address).name


def _target(
    where: Path,
    address: str | None,
    warehouse: str | None,
    database: str | None,
    table: str | None,
    catalog_conf: Sequence[str],
) -> tuple[Project, str]:
    project = projects.open_project(where)
    if address is not None:
        options.refuse(options.given(*_BY_WAREHOUSE), "ADDRESS says which table is meant", "keep one of the two")
        return project, address
    if not (warehouse and database and table):
        raise RequestError(
            "no table is named",
            code="missing-argument",
            hint="write catchment compact ADDRESS, or --warehouse PATH --database DB --table T",
        )
    from catchment.run.compaction.adhoc_depot import secrets_in, with_warehouse

    conf = dict(_pair(text, "--catalog-conf") for text in catalog_conf)
    projects.remember(secrets_in(conf))
    made, named = with_warehouse(project, warehouse, database, table, conf)
    if found := made.warnings[len(project.warnings) :]:
        _tell(error_report.diagnostics_text(found))
    return made, named


def partition(text: str) -> Partition:
    """A partition from `day=2026-03-01,region=eu`; what has a comma is quoted as in CSV: `"region=a,b"`."""
    from catchment.plan.model import Partition
    from catchment.spec.model import NULL_PARTITION

    values: dict[str, str | None] = {}
    for part in _fields(text):
        key, value = _pair(part, "--partition")
        if key in values:
            raise RequestError(
                f"`--partition {text}` gives {key} twice", code="bad-option", hint="write --partition once for each"
            )
        values[key] = None if value == NULL_PARTITION else value
    return Partition(values)


def _fields(text: str) -> list[str]:
    try:
        return next(csv.reader([text], skipinitialspace=True, strict=True)) or [text]
    except csv.Error as error:
        raise RequestError(f"`--partition` cannot be read: {error}", code="bad-option", hint=_EXAMPLES) from error


def _pair(text: str, option: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        # The message does not quote the text, which may be a secret.
        raise RequestError(f"`{option}` takes KEY=VALUE", code="bad-option", hint=_EXAMPLES)
    return key.strip(), value.strip()


def _rewrite(
    sort: str | None, condition: str | None, properties: Sequence[str], chosen: tuple[Partition, ...]
) -> Rewrite | None:
    """The single rewrite that options request; None if thresholds decide."""
    from catchment.errors import Position
    from catchment.plan.model import Clause, Rewrite

    if not (sort or condition or properties):
        return None
    clause = Clause(condition, Position("--where", 1, 1)) if condition else None
    known = dict(map(_property, properties))
    return Rewrite("sort" if sort else "binpack", sort, clause, known, chosen)


def _property(text: str) -> tuple[str, str]:
    from catchment.spec.reading.table_actions import REWRITE_PROPERTIES
    from catchment.spec.validation import did_you_mean

    key, equals, value = text.partition("=")
    if not equals or key not in REWRITE_PROPERTIES:
        hint = did_you_mean(key, REWRITE_PROPERTIES) or "write --property rewrite-all=true"
        raise RequestError(f"`{text}` is not a property of a rewrite", code="bad-option", hint=hint)
    return key, value


def _tell(line: str) -> None:
    printing.tell(projects.redactor().text(line))


def echo(facts: Mapping[str, Any]) -> None:
    """Print the report of a compaction."""
    parts = facts.get("partitions", ())
    for part in parts[:SHOWN]:
        click.echo(_line(part))
    if len(parts) > SHOWN:
        click.echo(f"and {len(parts) - SHOWN} more partitions")
    counts = [
        f"{value} {key.replace('_', ' ')}"
        for key, value in facts.items()
        if isinstance(value, int) and not isinstance(value, bool) and value
    ]
    sums = [f"{'would be: ' if facts['dry_run'] else ''}{', '.join(counts)}"] if counts else []
    as_a_whole = [text for name, text in _AS_A_WHOLE.items() if facts.get(name)]
    for line in (*sums, *as_a_whole) or ("nothing to do",):
        click.echo(line)


def _line(part: Mapping[str, Any]) -> str:
    name = part["partition"] if part["partition"] is not None else "(files of an earlier partitioning)"
    if "files" not in part:
        why = "; ".join(part["reasons"])
        return f"{name}: {part['rewritten_files']} files became {part['added_files']} ({why})"
    why = f" ({'; '.join(part['reasons'])})" if part.get("reasons") else ""
    return f"{name or '(all)'}: {part['files']} files, {part['bytes']:,} bytes{why}"

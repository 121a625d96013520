"""Finds and replaces names of published tables in SQL."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from pyspark.sql import SparkSession

from catchment.errors import CatchmentError, JobError, RequestError
from catchment.formats.iceberg.published import PublishedTable
from catchment.formats.iceberg.traits import TRAITS
from catchment.formats.sql_names import Edit, Edited, parsed
from catchment.plan.model import Dataset
from catchment.project.model import Depot

_COMMANDS_THAT_READ = frozenset({"SHOW", "EXPLAIN", "DESC", "DESCRIBE"})


def query_published(sql: str, depots: Sequence[Depot]) -> str:
    """The query with every table of a depot looked up in the depot's published catalog."""
    published = {depot.name: depot.publish for depot in depots}
    statement = parsed(sql, published)
    if statement is None:
        return sql

    def edits() -> Iterator[Edit]:
        from sqlglot import exp

        for named in statement.find_all(exp.Table, exp.Column):
            catalog = named.args.get("catalog")
            if catalog is not None and catalog.name in published:
                yield catalog.meta["start"], catalog.meta["end"] + 1, f"`{_required(catalog.name, published)}`"

    return Edited.of(sql, edits()).sql


def published_tables(sql: str, depots: Sequence[Depot]) -> tuple[tuple[str, str, str], ...]:
    """The tables of published catalogs that a query names: catalog, collection and table."""
    from sqlglot import exp

    catalogs = {depot.publish for depot in depots if depot.publish}
    statement = parsed(sql, catalogs)
    tables = statement.find_all(exp.Table) if statement else ()
    return tuple(
        (table.catalog, table.db, table.parts[2].name) for table in tables if table.catalog in catalogs and table.db
    )


def never_published(spark: SparkSession, sql: str, depots: Sequence[Depot]) -> CatchmentError | None:
    """The error if a query names a table that was never published; otherwise None."""
    for catalog, namespace, name in published_tables(sql, depots):
        depot = next(depot.name for depot in depots if depot.publish == catalog)
        dataset = Dataset(f"dataos://{depot}:{namespace}/{name}", depot, TRAITS.name, namespace, name)
        if PublishedTable(spark, catalog, dataset).pointer() is None:
            hint = f"publish it with `catchment table publish {dataset.address}`"
            return JobError(
                f"no version of {dataset.address} was ever published in {catalog}", code="never-published", hint=hint
            )
    return None


def refuse_writing(sql: str, depots: Sequence[Depot]) -> None:
    """Raise if a statement writes, or might write, to a published catalog."""
    catalogs = {depot.publish for depot in depots if depot.publish}
    named = next((name for name in sorted(catalogs) if name in sql), None)
    if named is not None and not _only_reads(sql, catalogs):
        raise JobError(
            f"a statement that names {named} may only read: published catalogs are read-only",
            code="published-read-only",
            hint="write to the depot, then publish with `catchment table publish`",
        )


def _only_reads(sql: str, catalogs: Collection[str]) -> bool:
    """Whether a statement certainly does not write to these catalogs; False if it cannot be parsed."""
    from sqlglot import exp

    statement = parsed(sql, catalogs)
    if isinstance(statement, exp.Insert | exp.Update | exp.Delete | exp.Merge | exp.Create):
        return not any(table.catalog in catalogs for table in statement.this.find_all(exp.Table))
    if isinstance(statement, exp.Command):
        return statement.name.upper() in _COMMANDS_THAT_READ
    return isinstance(statement, exp.Query | exp.Describe | exp.Show | exp.Cache | exp.Refresh)


def _required(depot: str, published: Mapping[str, str | None]) -> str:
    name = published[depot]
    if name is None:
        raise RequestError(
            f"depot {depot} has no published catalog",
            code="no-published-catalog",
            hint="leave --published out: its readers always see the newest version",
        )
    return name

"""Finds and replaces names of published tables in SQL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pyspark.sql import SparkSession

from catchment.errors import CatchmentError, JobError, RequestError
from catchment.formats.iceberg.published import PublishedTable
from catchment.formats.iceberg.traits import TRAITS
from catchment.formats.sql_names import Edit, Edited, parsed
from catchment.plan.model import Dataset
from catchment.project.model import Depot


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


def _required(depot: str, published: Mapping[str, str | None]) -> str:
    name = published[depot]
    if name is None:
        raise RequestError(
            f"depot {depot} has no published catalog",
            code="no-published-catalog",
            hint="leave --published out: its readers always see the newest version",
        )
    return name

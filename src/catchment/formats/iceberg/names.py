"""Names of published tables in queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from catchment.errors import RequestError
from catchment.formats.names import Edit, Edited, parsed
from catchment.project.model import Depot


def in_published(sql: str, depots: Sequence[Depot]) -> str:
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


def refuse_writing(sql: str, depots: Sequence[Depot]) -> None:
    """Refuse a statement that would write where readers see what was published."""
    from sqlglot import exp

    statement = parsed(sql, [depot.publish for depot in depots if depot.publish])
    if statement is None or isinstance(statement, exp.Query | exp.Describe | exp.Command):
        return
    if tables := published_tables(sql, depots):
        raise RequestError(
            f"{'.'.join(tables[0])} is what readers see of a table: it is moved, never written",
            code="published-read-only",
            hint="write to the depot, then publish with `catchment table publish`",
        )


def _required(depot: str, published: Mapping[str, str | None]) -> str:
    name = published[depot]
    if name is None:
        raise RequestError(
            f"depot {depot} has no published catalog",
            code="no-published-catalog",
            hint="leave --published out: its readers always see the newest version",
        )
    return name

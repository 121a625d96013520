"""Names of Delta tables in queries: `depot.collection.table` becomes the path, by which alone Spark finds them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from catchment.formats.names import Edit, edited, parsed
from catchment.project.model import Depot

if TYPE_CHECKING:
    from sqlglot import exp


def by_path(sql: str, depots: Sequence[Depot]) -> str:
    """The query with every table of a Delta depot named by its path; nothing else is touched."""
    places = {depot.name: depot.files.rstrip("/") for depot in depots if depot.kind == "delta"}
    statement = parsed(sql, places)
    return edited(sql, _edits(statement, places)) if statement else sql


def _edits(statement: exp.Expr, places: dict[str, str]) -> Iterator[Edit]:
    from sqlglot import exp

    for table in statement.find_all(exp.Table):
        if table.catalog in places and table.db and isinstance(table.this, exp.Identifier):
            yield _edit(table, places[table.catalog])


def _edit(table: exp.Table, place: str) -> Edit:
    path = f"delta.`{place}/{table.db}/{table.name}`"
    # A path is no name that columns could be qualified with: the table's own goes on serving for that.
    own = f" AS `{table.name}`" if _lacks_alias(table) else ""
    return table.args["catalog"].meta["start"], table.this.meta["end"] + 1, path + own


def _lacks_alias(table: exp.Table) -> bool:
    from sqlglot import exp

    return isinstance(table.parent, exp.From | exp.Join) and not table.alias and not table.args.get("version")

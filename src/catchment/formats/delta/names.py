"""Names of Delta tables in queries: `depot.collection.table` becomes the path, by which alone Spark finds them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from catchment.project.model import Depot

if TYPE_CHECKING:
    from sqlglot import exp

Edit = tuple[int, int, str]
"""From where to where a text is replaced, and by what."""


def by_path(sql: str, depots: Sequence[Depot]) -> str:
    """The query with every table of a Delta depot named by its path; nothing else is touched."""
    places = {depot.name: depot.files.rstrip("/") for depot in depots if depot.kind == "delta" and depot.name in sql}
    for start, end, text in sorted(_edits(sql, places), reverse=True) if places else ():
        sql = sql[:start] + text + sql[end:]
    return sql


def _edits(sql: str, places: dict[str, str]) -> Iterator[Edit]:
    import sqlglot  # slow to import, and needed only where a Delta depot is named
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        statement = sqlglot.parse_one(sql, read="spark")
    except SqlglotError:
        return  # what is wrong with it is Spark's to say
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

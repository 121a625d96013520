"""Names of Delta tables in SQL: `depot.collection.table` becomes what Spark finds, the path or the catalog's name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from catchment.formats.delta.traits import TRAITS
from catchment.formats.sql_names import Edit, parsed
from catchment.project.model import Depot

if TYPE_CHECKING:
    from sqlglot import exp


def edits(sql: str, depots: Sequence[Depot]) -> Iterator[Edit]:
    """Every table of a Delta depot gets the name under which Spark finds it; nothing else is touched."""
    named = {depot.name: depot for depot in depots if depot.kind == TRAITS.name}
    statement = parsed(sql, named)
    return _edits(statement, named) if statement else iter(())


def _edits(statement: exp.Expr, depots: Mapping[str, Depot]) -> Iterator[Edit]:
    from sqlglot import exp

    for table in statement.find_all(exp.Table):
        if table.catalog in depots and table.db and isinstance(table.this, exp.Identifier):
            yield _edit(table, depots[table.catalog])


def _edit(table: exp.Table, depot: Depot) -> Edit:
    catalog = table.args["catalog"].meta
    if depot.catalog is not None:
        return catalog["start"], catalog["end"] + 1, "spark_catalog"
    path = f"delta.`{depot.files.rstrip('/')}/{table.db}/{table.name}`"
    # A path is no name that columns could be qualified with: the table's own goes on serving for that.
    own = f" AS `{table.name}`" if _lacks_alias(table) else ""
    return catalog["start"], table.this.meta["end"] + 1, path + own


def _lacks_alias(table: exp.Table) -> bool:
    from sqlglot import exp

    return isinstance(table.parent, exp.From | exp.Join) and not table.alias and not table.args.get("version")

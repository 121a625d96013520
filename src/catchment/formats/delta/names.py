"""Names of Delta tables in SQL: `depot.collection.table` becomes what Spark finds, the path or the catalog's name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from catchment.project.model import Depot

if TYPE_CHECKING:
    from sqlglot import exp


@dataclass(frozen=True)
class Edit:
    """From where to where a text is replaced, and by what."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Edited:
    """SQL as Spark gets it, and what was changed in it, in order."""

    sql: str
    edits: tuple[Edit, ...] = ()

    def origin(self, offset: int) -> int:
        """Where a place in this SQL was before it was changed; what replaced a name is where the name was."""
        moved = 0
        for edit in self.edits:
            begin = edit.start + moved
            if offset < begin:
                break
            if offset < begin + len(edit.text):
                return edit.start
            moved += len(edit.text) - (edit.end - edit.start)
        return offset - moved


def found_by_spark(sql: str, depots: Sequence[Depot]) -> Edited:
    """The SQL with every table of a Delta depot named as Spark finds it; nothing else is touched."""
    named = {depot.name: depot for depot in depots if depot.kind == "delta" and depot.name in sql}
    edits = tuple(sorted(_edits(sql, named), key=lambda edit: edit.start)) if named else ()
    for edit in reversed(edits):
        sql = sql[: edit.start] + edit.text + sql[edit.end :]
    return Edited(sql, edits)


def _edits(sql: str, depots: Mapping[str, Depot]) -> Iterator[Edit]:
    import sqlglot  # slow to import, and needed only where a Delta depot is named
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        statement = sqlglot.parse_one(sql, read="spark")
    except SqlglotError:
        return  # what is wrong with it is Spark's to say
    for table in statement.find_all(exp.Table):
        if table.catalog in depots and table.db and isinstance(table.this, exp.Identifier):
            yield _edit(table, depots[table.catalog])


def _edit(table: exp.Table, depot: Depot) -> Edit:
    catalog = table.args["catalog"].meta
    if depot.catalog is not None:
        return Edit(catalog["start"], catalog["end"] + 1, "spark_catalog")
    path = f"delta.`{depot.files.rstrip('/')}/{table.db}/{table.name}`"
    # A path is no name that columns could be qualified with: the table's own goes on serving for that.
    own = f" AS `{table.name}`" if _lacks_alias(table) else ""
    return Edit(catalog["start"], table.this.meta["end"] + 1, path + own)


def _lacks_alias(table: exp.Table) -> bool:
    from sqlglot import exp

    return isinstance(table.parent, exp.From | exp.Join) and not table.alias and not table.args.get("version")

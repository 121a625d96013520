"""MERGE and DELETE statements built from clauses of a workflow; errors in them point to the workflow file."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame

from catchment.errors import Position
from catchment.jvm.causes import Throwable, causes
from catchment.plan.model import Clause, Merge


@dataclass(frozen=True)
class Statement:
    """SQL, with the offsets at which the clauses of the workflow begin."""

    sql: str
    clauses: tuple[tuple[int, Clause], ...] = ()

    @classmethod
    def of(cls, *pieces: str | Clause) -> Statement:
        """A statement made of these pieces in order."""
        sql, clauses = "", []
        for piece in pieces:
            if isinstance(piece, Clause):
                clauses.append((len(sql), piece))
            sql += piece.sql if isinstance(piece, Clause) else piece
        return cls(sql, tuple(clauses))

    def place(self, error: BaseException) -> Position | None:
        """The position in the workflow of the SQL that a Spark error points to; None if it points to no clause."""
        offsets = (offset for cause in causes(error) for offset in self._offsets(cause))
        return next((place for place in map(self._position, offsets) if place), None)

    def _offsets(self, cause: Throwable) -> list[int]:
        blamed = [start for start, text in cause.fragments if text and self.sql.startswith(text, start)]
        return blamed or ([self._offset(*cause.place)] if cause.place else [])

    def _offset(self, line: int, column: int) -> int:
        return sum(len(text) + 1 for text in self.sql.split("\n")[: line - 1]) + column

    def _position(self, offset: int) -> Position | None:
        for start, clause in self.clauses:
            if start <= offset <= start + len(clause.sql):
                before = clause.sql[: offset - start]
                return clause.position(before.count("\n") + 1, len(before) - before.rfind("\n") - 1)
        return None


def merge_statement(merge: Merge, table: str, view: str) -> Statement:
    """The MERGE INTO that merges the rows of a view into a table."""
    head = f"MERGE INTO {table} AS {merge.target} USING {view} AS {merge.source} ON "
    # Each clause ends with a newline, because a clause may end with a comment.
    return Statement.of(head, merge.on, "\nWHEN ", merge.when, "\n")


def delete_statement(condition: Clause, table: str) -> Statement:
    """The DELETE FROM for a condition, in which the table has the alias target."""
    return Statement.of(f"DELETE FROM {table} AS target WHERE ", condition, "\n")  # noqa: S608 - the user's own SQL


def create_rows_view(frame: DataFrame, name: str) -> None:
    """Create a view over the rows alone, because Spark 4.1 cannot plan a MERGE from a view on a table."""
    query = frame._jdf.queryExecution()
    if not query.analyzed().deterministic():
        frame.createOrReplaceTempView(name)  # Spark itself refuses non-deterministic rows, with a clear message
        return
    session = frame.sparkSession._jsparkSession
    alone = session.internalCreateDataFrame(query.toRdd(), frame._jdf.schema(), False)  # noqa: FBT003
    alone.createOrReplaceTempView(name)

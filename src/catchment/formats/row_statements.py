"""Statements made of clauses that stand in a workflow: what fails in them is shown where it is written."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame

from catchment.errors import Position
from catchment.jvm.causes import Throwable, causes
from catchment.plan.model import Clause, Merge


@dataclass(frozen=True)
class Statement:
    """SQL, and where in it the clauses of the workflow begin."""

    sql: str
    clauses: tuple[tuple[int, Clause], ...] = ()

    @classmethod
    def of(cls, *pieces: str | Clause) -> Statement:
        """The pieces, one after the other."""
        sql, clauses = "", []
        for piece in pieces:
            if isinstance(piece, Clause):
                clauses.append((len(sql), piece))
            sql += piece.sql if isinstance(piece, Clause) else piece
        return cls(sql, tuple(clauses))

    def place(self, error: BaseException) -> Position | None:
        """Where in the workflow the SQL stands that an error of Spark blames; None where it blames none of this."""
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
    """The MERGE INTO that brings the rows of a view into a table."""
    head = f"MERGE INTO {table} AS {merge.target} USING {view} AS {merge.source} ON "
    # On lines of their own: a clause may end with a comment.
    return Statement.of(head, merge.on, "\nWHEN ", merge.when, "\n")


def delete_statement(condition: Clause, table: str) -> Statement:
    """The DELETE FROM that removes what meets a condition, in which the table is called target."""
    return Statement.of(f"DELETE FROM {table} AS target WHERE ", condition, "\n")  # noqa: S608 - the user's own SQL


def show_rows(frame: DataFrame, name: str) -> None:
    """Make rows a view. Spark 4.1 finds no plan for a MERGE from a view with a table in it: it gets the rows alone."""
    query = frame._jdf.queryExecution()
    if not query.analyzed().deterministic():
        frame.createOrReplaceTempView(name)  # Spark itself says why it takes no rows that are others each time
        return
    session = frame.sparkSession._jsparkSession
    alone = session.internalCreateDataFrame(query.toRdd(), frame._jdf.schema(), False)  # noqa: FBT003
    alone.createOrReplaceTempView(name)

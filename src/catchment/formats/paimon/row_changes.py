"""Deletes and merges in tables with a primary key: the changed rows are written to a buffer like any others.

Paimon's own commands compute and write them, but are kept from committing. What they write depends on the rows that
they have read, so it is published only if nobody has changed those since; otherwise it is computed again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

from catchment.commit import faults
from catchment.errors import JobError
from catchment.formats.failures import first_line, from_spark
from catchment.formats.model import Write
from catchment.formats.paimon import sealed_messages
from catchment.formats.paimon.java import commits
from catchment.formats.paimon.table import Table
from catchment.formats.row_statements import Statement
from catchment.jvm.causes import causes
from catchment.jvm.classes import Jvm
from catchment.store.writes import Contents

ROWS = "catchment_merged_rows"
"""The view with the rows to merge."""
WRITE_ONLY = "spark.paimon.write-only"
ANALYSIS = "org.apache.paimon.spark.catalyst.analysis."
IGNORE_DELETES = ("ignore-delete", "deduplicate.ignore-delete")


def check(table: Table, write: Write) -> None:
    """Raise unless rows of the table can be changed one by one."""
    why = _obstacle(table)
    if why is None:
        return
    output = write.output
    raise JobError(
        f"rows cannot be {'merged into' if output.merge else 'deleted from'} {output.dataset.address}: {why}",
        code="row-changes-unsupported",
        where=output.merge.where if output.merge else output.where,
        hint="overwrite the partitions, or use a table with a primary key and the merge engine deduplicate",
    )


def _obstacle(table: Table) -> str | None:
    if not table.keys:
        return "it has no primary key, and Paimon would replace whole files that a compaction may replace too"
    if table.merge_engine != "deduplicate":
        return f"its merge engine is {table.merge_engine}"
    if table.hides_new_rows:
        return "with deletion vectors, rows that are not compacted yet cannot be seen"
    if any(table.options.get(key, "false").lower() == "true" for key in IGNORE_DELETES):
        return "it ignores deletes (ignore-delete)"
    return None


def fill(table: Table, statement: Statement, write: Write) -> Contents:
    """Write the rows that a statement changes, and describe the files."""
    spark = table.spark
    faults.point("before-data-written")
    try:
        packed = commits(spark).change(spark._jsparkSession, _analyzed(spark, statement.sql))
    except Exception as error:
        if (refused := _refused_clause(error, write)) is not None:
            raise refused from error
        place = statement.place(error)
        if place is None:
            raise  # unchanged: the caller finds the step that is to blame
        problem, what = (
            from_spark(error, otherwise="write-failed"),
            "action" if write.output.merge is None else "output",
        )
        raise problem.changed(message=f"{what} {write.output.name}: {problem.message}", where=place) from error
    faults.point("data-written")
    return sealed_messages.contents_of(table, str(packed))


def _refused_clause(error: Exception, write: Write) -> JobError | None:
    """The error if Paimon refuses a clause of a merge; it does not say which one."""
    cause = next((each for each in causes(error) if each.thrown_by.startswith(ANALYSIS)), None)
    if cause is None or write.output.merge is None:
        return None
    unresolved = cause.thrown_by.endswith("ExpressionHelper")
    said = first_line(cause).partition(" from ")[0] if unresolved else first_line(cause)
    return JobError(
        f"output {write.output.name}: {said}",
        code="column-not-found" if unresolved else "bad-merge-clause",
        where=write.output.merge.where,
        hint="check the spelling of the columns in `merge`; INSERT needs all columns of the table, and UPDATE cannot "
        "set the primary key",
    )


def _analyzed(spark: SparkSession, sql: str) -> Any:
    """The command of a statement, which is not run."""
    state = spark._jsparkSession.sessionState()
    skip = Jvm.of(spark)("org.apache.spark.sql.execution.CommandExecutionMode").SKIP()
    with _write_only(spark):
        parsed = commits(spark).aliased(state.sqlParser().parsePlan(sql))
        return state.executePlan(parsed, skip).analyzed()


@contextmanager
def _write_only(spark: SparkSession) -> Iterator[None]:
    """Within this context, tables are loaded such that their writers do not compact them."""
    before = spark.conf.get(WRITE_ONLY, None)
    spark.conf.set(WRITE_ONLY, "true")
    try:
        yield
    finally:
        spark.conf.unset(WRITE_ONLY) if before is None else spark.conf.set(WRITE_ONLY, before)

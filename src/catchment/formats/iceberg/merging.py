"""Merge: rows of a view meet rows of a table, in one commit."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from catchment.commit.writer import Listener, Writer
from catchment.formats.iceberg.catalogs import Table, branch_of, identifier_of
from catchment.formats.iceberg.changes import change
from catchment.formats.iceberg.fitting import fit
from catchment.formats.model import Write, Written
from catchment.formats.statements import Statement, merge_statement
from catchment.formats.views import show_rows
from catchment.plan.model import Merge

ROWS = "catchment_merged_rows"
"""The view that a merge takes its rows from."""


def merge(
    spark: SparkSession,
    frame: DataFrame,
    write: Write,
    clauses: Merge,
    table: Table,
    writer: Writer,
    listener: Listener,
) -> Written:
    """Merge the rows into the table, unless this very write has been committed before."""
    _warn_of_options(write, listener)
    target = identifier_of(write.output.dataset, branch_of(write.output))

    def statement() -> Statement:
        # Not every column of the rows need be one of the table: clauses choose. To let the table grow, they must fit.
        rows = fit(spark, frame, write, table) if write.output.merge_schema else frame
        show_rows(rows, ROWS)
        return merge_statement(clauses, target, ROWS)

    try:
        return change(spark, table, write, statement, writer, listener)
    finally:
        spark.catalog.dropTempView(ROWS)


def _warn_of_options(write: Write, listener: Listener) -> None:
    """Iceberg's MERGE INTO takes no options of a writer."""
    given = [*write.output.options, *(["compressionType"] if write.output.compression else [])]
    if ignored := [option for option in given if option != "branch"]:
        listener.warn(f"output {write.output.name}: {', '.join(ignored)} has no effect on a merge")

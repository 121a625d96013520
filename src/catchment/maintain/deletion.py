"""`delete_from_dataset`: the rows of a table that meet a condition go, in one commit."""

from __future__ import annotations

from pyspark.sql import SparkSession

from catchment.commit.writer import Listener, Writer
from catchment.formats.iceberg.catalogs import branch_of, identifier_of, require_table
from catchment.formats.iceberg.changes import change
from catchment.formats.model import Write, Written
from catchment.formats.statements import delete_statement
from catchment.plan.model import Clause


def delete_rows(spark: SparkSession, condition: Clause, write: Write, writer: Writer, listener: Listener) -> Written:
    """Delete rows. Where whole partitions or files are meant, only metadata changes: no data is read or written."""
    dataset = write.output.dataset
    with writer.admission(dataset.depot, dataset.address, write.id):
        table = require_table(spark, dataset)
        statement = delete_statement(condition, identifier_of(dataset, branch_of(write.output)))
        return change(spark, table, write, lambda: statement, writer, listener)

"""Recovering tables: the answer for `catchment recover`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pyspark.sql import SparkSession

from catchment.commit import own_commit
from catchment.commit.recovery import Recovered, keep_buffers, recover
from catchment.commit.writer import Writer
from catchment.engine.failures import from_spark
from catchment.engine.protocol import Recover
from catchment.errors import CatchmentError
from catchment.formats.delta.log import log_of
from catchment.formats.files.writing import publisher_of
from catchment.formats.iceberg.recovery import recover_table
from catchment.plan.model import Dataset

NOTHING = Recovered((), (), (), (), ())


def recover_tables(spark: SparkSession, command: Recover, writer: Writer) -> Mapping[str, Any]:
    """Recover tables one after the other; trouble with one does not keep the others waiting."""
    return {"tables": [_recovered(spark, table, writer, remove=command.remove) for table in command.tables]}


def _recovered(spark: SparkSession, table: Dataset, writer: Writer, *, remove: bool) -> Mapping[str, Any]:
    done, problem = NOTHING, None
    try:
        done = _done(spark, table, writer, remove=remove)
    except Exception as error:
        problem = _described(from_spark(error, otherwise="recovery-failed"))
    return {"table": table.address, **asdict(done), "error": problem}


def _done(spark: SparkSession, table: Dataset, writer: Writer, *, remove: bool) -> Recovered:
    if table.format == "delta":
        return _settled(spark, table, writer)
    if table.path:
        files = publisher_of(writer, table)
        return recover(files, files.destination.tidy if remove else keep_buffers)
    return recover_table(spark, table, writer, remove=remove)


def _settled(spark: SparkSession, table: Dataset, writer: Writer) -> Recovered:
    """What engines that are gone have left open; the files of what was not committed are Delta's own to remove."""
    settled = own_commit.settle(writer.ledger, table.address, log_of(spark, table).find)
    return Recovered(settled.committed, (), settled.abandoned, (), ())


def _described(error: CatchmentError) -> Mapping[str, Any]:
    return {"code": error.code, "message": error.message, "hint": error.hint}

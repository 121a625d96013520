"""Recovering tables: the answer for `catchment recover`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from pyspark.sql import SparkSession

from catchment.commit import wrapped
from catchment.commit.recover import Recovered, give_up_dropped, recover, remove_dead
from catchment.commit.table import LakeTable
from catchment.commit.writer import Writer
from catchment.engine.failures import from_spark
from catchment.engine.protocol import Recover
from catchment.errors import CatchmentError
from catchment.formats.delta.log import log_of
from catchment.formats.iceberg import catalogs, history
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
        files = writer.publisher_of_files(table.target)
        return recover(files, files.destination.tidy if remove else _keep)
    # Only where the catalog says so: one that does not answer raises, and the sealed writes wait.
    found = catalogs.find_table(spark, table)
    settled = wrapped.settle(writer.ledger, table.address, partial(_own_commit, spark, found))
    done = _buffered(spark, table, found, writer, remove=remove)
    published, abandoned = (*settled.committed, *done.published), (*settled.abandoned, *done.abandoned)
    return replace(done, published=published, abandoned=abandoned)


def _own_commit(spark: SparkSession, found: catalogs.Table | None, write_id: str) -> wrapped.Committed | None:
    """A write that Iceberg has committed by itself, if the history has it."""
    snapshot = history.find_write(spark, found, write_id) if found is not None else None
    return snapshot.committed() if snapshot else None


def _buffered(
    spark: SparkSession, table: Dataset, found: catalogs.Table | None, writer: Writer, *, remove: bool
) -> Recovered:
    if found is None:
        return give_up_dropped(writer.ledger, table.address)
    publisher = writer.publisher(table.address, table.depot, str(table.namespace), str(table.table))
    cleaner = partial(remove_dead, spark, LakeTable(spark, found), table.identifier)
    with writer.admission(table.depot, table.address, "recovery"):
        return recover(publisher, cleaner if remove else _keep)


def _keep(buffers: Sequence[str]) -> tuple[str, ...]:
    return ()


def _settled(spark: SparkSession, table: Dataset, writer: Writer) -> Recovered:
    """What engines that are gone have left open; the files of what was not committed are Delta's own to remove."""
    settled = wrapped.settle(writer.ledger, table.address, log_of(spark, table).find)
    return Recovered(settled.committed, (), settled.abandoned, (), ())


def _described(error: CatchmentError) -> Mapping[str, Any]:
    return {"code": error.code, "message": error.message, "hint": error.hint}

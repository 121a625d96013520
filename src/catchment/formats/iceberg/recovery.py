"""Recovers a table: publishes sealed writes, and removes buffers that no snapshot refers to."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from catchment.commit import own_commit
from catchment.commit.recovery import Recovered, give_up_dropped, keep_buffers, recover
from catchment.commit.writer import Writer
from catchment.formats.iceberg import catalogs
from catchment.formats.iceberg.buffered import publisher_of
from catchment.formats.iceberg.own_commits import find_commit
from catchment.formats.iceberg.table import LakeTable
from catchment.plan.model import Dataset
from catchment.store.ledger import Ledger
from catchment.store.writes import Entry


def recover_table(spark: SparkSession, dataset: Dataset, writer: Writer, *, remove: bool) -> Recovered:
    """Finish or abandon the unfinished writes of dead engines."""
    # A table counts as dropped only if the catalog says so. If the catalog does not answer, this raises.
    found = catalogs.find_table(spark, dataset)
    find = partial(find_commit, spark, found) if found is not None else _in_no_table
    settled = own_commit.settle(writer.ledger, dataset.address, find)
    done = _buffered(spark, dataset, found, writer, remove=remove)
    published, abandoned = (*settled.committed, *done.published), (*settled.abandoned, *done.abandoned)
    return replace(done, published=published, refused=(*settled.unknown, *done.refused), abandoned=abandoned)


def _in_no_table(write: Entry) -> None:
    """A table that was dropped has no commits."""


def _buffered(
    spark: SparkSession, dataset: Dataset, found: catalogs.Table | None, writer: Writer, *, remove: bool
) -> Recovered:
    if found is None:
        return give_up_dropped(writer.ledger, dataset.address)
    cleaner = partial(_remove_unreferenced, spark, LakeTable(spark, found), dataset.identifier, writer.ledger)
    with writer.admission(dataset, "recovery"):
        return recover(publisher_of(writer, dataset), cleaner if remove else keep_buffers)


def _remove_unreferenced(
    session: SparkSession, table: LakeTable, identifier: str, ledger: Ledger, buffers: Sequence[str]
) -> tuple[str, ...]:
    """Remove abandoned buffers, except those with a file that any snapshot refers to: they belong to the table."""
    if not buffers:
        return ()
    live = _live(session, identifier, {_name(buffer) for buffer in buffers})
    gone = tuple(buffer for buffer in buffers if _name(buffer) not in live)
    for buffer in gone:
        table.java.io().deletePrefix(f"{buffer}/")
    ledger.forget(buffer for buffer in buffers if _name(buffer) in live)
    return gone


def _live(session: SparkSession, identifier: str, names: Collection[str]) -> frozenset[str]:
    """The directories among these that hold files of any snapshot in the table's history."""
    files = session.table(f"{identifier}.all_data_files")
    # Compared by the directory's own name, because stores spell the path before it in several ways.
    parts = files.select(F.explode(F.split("file_path", "/")).alias("part"))
    return frozenset(row.part for row in parts.where(F.col("part").isin(*names)).distinct().collect())


def _name(buffer: str) -> str:
    return buffer.rpartition("/")[2]

"""Recovering a table: what is sealed is published, and files go that no snapshot refers to."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from catchment.commit import own_commit
from catchment.commit.recovery import Recovered, give_up_dropped, keep_buffers, recover
from catchment.commit.writer import Writer
from catchment.formats.iceberg import catalogs, snapshots
from catchment.formats.iceberg.buffered import publisher_of
from catchment.formats.iceberg.table import LakeTable
from catchment.plan.model import Dataset


def recover_table(spark: SparkSession, dataset: Dataset, writer: Writer, *, remove: bool) -> Recovered:
    """Finish or give up what engines that are gone have left of a table."""
    # Only where the catalog says so: one that does not answer raises, and the sealed writes wait.
    found = catalogs.find_table(spark, dataset)
    settled = own_commit.settle(writer.ledger, dataset.address, partial(_own_commit, spark, found))
    done = _buffered(spark, dataset, found, writer, remove=remove)
    published, abandoned = (*settled.committed, *done.published), (*settled.abandoned, *done.abandoned)
    return replace(done, published=published, abandoned=abandoned)


def _own_commit(spark: SparkSession, found: catalogs.Table | None, write_id: str) -> own_commit.Committed | None:
    """A write that Iceberg has committed by itself, if the history has it."""
    snapshot = snapshots.find_write(spark, found, write_id) if found is not None else None
    return snapshot.committed() if snapshot else None


def _buffered(
    spark: SparkSession, dataset: Dataset, found: catalogs.Table | None, writer: Writer, *, remove: bool
) -> Recovered:
    if found is None:
        return give_up_dropped(writer.ledger, dataset.address)
    cleaner = partial(remove_dead, spark, LakeTable(spark, found), dataset.identifier)
    with writer.admission(dataset.depot, dataset.address, "recovery"):
        return recover(publisher_of(writer, dataset), cleaner if remove else keep_buffers)


def remove_dead(session: SparkSession, table: LakeTable, identifier: str, buffers: Sequence[str]) -> tuple[str, ...]:
    """Remove leftovers of a table, but never a file that any of its snapshots or branches may still read."""
    if not buffers:
        return ()
    live = _live(session, identifier, {_name(buffer) for buffer in buffers})
    gone = tuple(buffer for buffer in buffers if _name(buffer) not in live)
    for buffer in gone:
        table.java.io().deletePrefix(f"{buffer}/")
    return gone


def _live(session: SparkSession, identifier: str, names: Collection[str]) -> frozenset[str]:
    """Which of these directories hold files of any snapshot in the table's history."""
    files = session.table(f"{identifier}.all_data_files")
    # By the directory's own name: a store may spell the path before it in several ways.
    parts = files.select(F.explode(F.split("file_path", "/")).alias("part"))
    return frozenset(row.part for row in parts.where(F.col("part").isin(*names)).distinct().collect())


def _name(buffer: str) -> str:
    return buffer.rpartition("/")[2]

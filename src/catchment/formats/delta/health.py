"""How well the files of a Delta table serve its readers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from catchment.formats.delta.log import Head, Log
from catchment.formats.partition_values import PartitionColumn
from catchment.plan.model import Dataset
from catchment.run_model import snapshot_name
from catchment.table_health import PartitionHealth, TableHealth, small_limit, table_health

TARGET, TARGET_DEFAULT = "delta.targetFileSize", 128 * 1024 * 1024
PHYSICAL = "delta.columnMapping.physicalName"
MOST_COMMITS = 20
"""Commits that are searched for a compaction that others made; each is a file of the log."""


def health_of(
    log: Log, dataset: Dataset, head: Head, small_file_bytes: int | None, recorded: float | None
) -> TableHealth:
    """The live files by partition, from the newest version; `recorded` is the last compaction in the ledger."""
    given = head.properties.get(TARGET, "")
    target = int(given) if given.isdecimal() else TARGET_DEFAULT
    limit = small_limit(target, small_file_bytes)
    return table_health(
        dataset.address,
        snapshot_name(head.version),
        (target, limit),
        sizes_by_partition(log.spark, head, limit),
        snapshots=head.version + 1,
        last_compaction=max(recorded or 0.0, _last_compaction(log, head) or 0.0) or None,
    )


def partition_columns(head: Head) -> list[PartitionColumn]:
    """The columns that the table is partitioned by."""
    types = {field.name: field.dataType.simpleString() for field in head.schema.fields}
    return [PartitionColumn(name, types[name]) for name in head.partitions]


def sizes_by_partition(spark: SparkSession, head: Head, limit: int) -> Iterator[PartitionHealth]:
    """The sums over the live files of each partition."""
    files = DataFrame(head.snapshot.allFiles().toDF(), spark)
    physical = {field.name: field.metadata.get(PHYSICAL, field.name) for field in head.schema.fields}
    small = F.col("size") < limit
    values = (
        F.array(*(F.col("partitionValues")[physical[name]] for name in head.partitions))
        .cast("array<string>")
        .alias("partition")
    )
    rows = files.groupBy(values).agg(
        F.count("*").alias("files"),
        F.sum("size").alias("bytes"),
        F.count(F.when(small, 1)).alias("small_files"),
        F.coalesce(F.sum(F.when(small, F.col("size"))), F.lit(0)).alias("small_bytes"),
        F.count("deletionVector").alias("delete_files"),
        F.max("modificationTime").alias("changed"),
    )
    for row in rows.collect():
        partition = dict(zip(head.partitions, row.partition, strict=False))
        counts = (row.files, row.bytes, row.small_files, row.small_bytes, row.delete_files)
        yield PartitionHealth(partition, *counts, changed=row.changed / 1000)


def _last_compaction(log: Log, head: Head) -> float | None:
    newest = islice(log.commits(head.version), MOST_COMMITS)
    found = (int(each.info["timestamp"]) / 1000 for each in newest if each.info.get("operation") == "OPTIMIZE")
    return next(found, None)

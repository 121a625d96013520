"""Totals of the live files of a Delta table, through Spark."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from catchment.formats.delta import file_health
from catchment.formats.delta.log import Head, Log
from catchment.formats.partition_values import PartitionColumn
from catchment.plan.model import Dataset
from catchment.table_health import PartitionHealth, TableHealth

PHYSICAL = "delta.columnMapping.physicalName"


def health_of(
    log: Log, dataset: Dataset, head: Head, small_file_bytes: int | None, recorded: float | None
) -> TableHealth:
    """The live files by partition, from the newest version; `recorded` is the last compaction in the ledger."""
    limits = file_health.size_limits(head.properties, small_file_bytes)
    found = sizes_by_partition(log.spark, head, limits[1])
    return file_health.health_of(dataset, head.version, limits, found, log.commits(head.version), recorded)


def partition_columns(head: Head) -> list[PartitionColumn]:
    """The columns that the table is partitioned by."""
    types = {field.name: field.dataType.simpleString() for field in head.schema.fields}
    return [PartitionColumn(name, types[name]) for name in head.partitions]


def has_vectors(spark: SparkSession, head: Head, condition: str | None) -> bool:
    """Whether a live file of the partitions that meet a condition has a deletion vector."""
    files = DataFrame(head.snapshot.allFiles().toDF(), spark).where("deletionVector IS NOT NULL")
    if condition is not None:
        names, types = _physical(head), {field.name: field.dataType for field in head.schema.fields}
        values = ((name, F.col("partitionValues")[names[name]]) for name in head.partitions)
        files = files.select(*(F.when(text != "", text).cast(types[name]).alias(name) for name, text in values))
        files = files.where(condition)
    return bool(files.head(1))


def _physical(head: Head) -> dict[str, str]:
    """The names that the columns have in the files, by their names."""
    return {field.name: field.metadata.get(PHYSICAL, field.name) for field in head.schema.fields}


def sizes_by_partition(
    spark: SparkSession, head: Head, limit: int, *, vectors: bool = False
) -> Iterator[PartitionHealth]:
    """Totals of the live files by partition; with `vectors`, files that have one count as small."""
    files = DataFrame(head.snapshot.allFiles().toDF(), spark)
    physical = _physical(head)
    small = (F.col("size") < limit) | (F.lit(vectors) & F.col("deletionVector").isNotNull())
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

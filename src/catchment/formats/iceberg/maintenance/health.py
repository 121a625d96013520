"""Totals of the live files of an Iceberg table, through Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import DataType, DateType, TimestampNTZType, TimestampType

from catchment.formats.iceberg import file_health, snapshot_lookup
from catchment.formats.iceberg.file_health import PartitionFiles
from catchment.formats.iceberg.maintenance.model import MaintainedTable
from catchment.table_health import TableHealth


def health_of(maintained: MaintainedTable, small_file_bytes: int | None) -> TableHealth:
    """The live files by partition, from the manifests of the current snapshot."""
    maintained.table.refresh()
    metadata = json.loads(snapshot_lookup.metadata(maintained.spark, maintained.table))
    limits = file_health.size_limits(metadata, small_file_bytes)
    head = maintained.table.currentSnapshot()
    manifests = head.allManifests(maintained.table.io()).size() if head is not None else 0
    found = _partitions(maintained, limits[1]) if head is not None else ()
    return file_health.health_of(maintained.dataset.address, metadata, limits, found, int(manifests))


def _partitions(maintained: MaintainedTable, limit: int) -> Iterator[PartitionFiles]:
    entries = maintained.spark.table(f"{maintained.dataset.identifier}.entries").where("status < 2")
    is_data, size = F.col("data_file.content") == 0, F.col("data_file.file_size_in_bytes")
    small = is_data & (size < limit)
    by = [F.col("data_file.spec_id").alias("spec_id")]
    described: Any = entries.schema["data_file"].dataType
    fields = described["partition"].dataType.fields if "partition" in described.fieldNames() else []
    if fields:
        by.append(F.col("data_file.partition").alias("partition"))
    sums = entries.groupBy(*by).agg(
        F.count(F.when(is_data, 1)).alias("files"),
        F.coalesce(F.sum(F.when(is_data, size)), F.lit(0)).alias("bytes"),
        F.count(F.when(small, 1)).alias("small_files"),
        F.coalesce(F.sum(F.when(small, size)), F.lit(0)).alias("small_bytes"),
        F.count(F.when(~is_data, 1)).alias("delete_files"),
        F.max("file_sequence_number").alias("sequence"),
    )
    # Only now: of the rows of `entries` themselves, Iceberg does not return a single time without a zone.
    numbers = [_number(F.col("partition").getField(field.name), field.dataType).alias(field.name) for field in fields]
    for row in (sums.withColumn("partition", F.struct(*numbers)) if numbers else sums).collect():
        values = row.partition.asDict() if numbers else {}
        counts = (row.files, row.bytes, row.small_files, row.small_bytes, row.delete_files)
        yield PartitionFiles(row.spec_id, values, *counts, row.sequence)


def _number(value: Column, kind: DataType) -> Column:
    """A date or time as Iceberg stores it: Python does not have the years before 1 and after 9999."""
    if isinstance(kind, DateType):
        return F.unix_date(value)
    if isinstance(kind, TimestampNTZType):
        value = F.concat(value.cast("string"), F.lit("Z")).cast("timestamp")
    return F.unix_micros(value) if isinstance(kind, TimestampType | TimestampNTZType) else value

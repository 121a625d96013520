"""The fork of a table: a private copy that Spark's Iceberg writer fills, and that no commit can come from.

A fork lives in the driver's memory and has the very metadata of its table: schemas, partition specs, sort orders and
their ids are the table's own, and so is the file access. Only new data files go elsewhere. Spark writes into it the
way Iceberg's compaction does: the files are handed over to whoever asked for them, and nothing is committed.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from catchment.commit.jvm import Jvm
from catchment.commit.table import LakeTable
from catchment.errors import JobError

FORKS = "catchment_forks"
"""The Spark catalog that finds forks by their names."""

ROW_LINEAGE = ("_row_id", "_last_updated_sequence_number")
"""Columns that compaction carries along from format v3 on. New rows have none: null lets the table number them."""

ENCRYPTION_KEY = "encryption.key-id"


@dataclass(frozen=True)
class Fork:
    """One write's private view of a table."""

    name: str
    java: Any
    """Iceberg's table object."""
    jvm: Jvm

    def fill(self, frame: DataFrame, options: Mapping[str, str]) -> list[Any]:
        """Write the rows; returns Iceberg's data files, which nobody but the caller knows."""
        files = self.jvm.iceberg("spark.FileRewriteCoordinator").get()
        if int(self.java.operations().current().formatVersion()) > 2:
            frame = frame.withColumns({column: F.lit(None).cast("long") for column in ROW_LINEAGE})
        # Spark 3.5 is told by the table's name and an option what Spark 4 knows by the catalog.
        old = frame.sparkSession.version.startswith("3.")
        identifier = f"{FORKS}.`{self.name}{'#rewrite' if old else ''}`"
        handed_over = {"rewritten-file-scan-task-set-id": self.name} if old else {}
        frame.writeTo(identifier).options(**options, **handed_over).append()
        try:
            return list(files.fetchNewFiles(self.java, self.name).iterator())
        finally:
            files.clearRewrite(self.java, self.name)

    def remove(self) -> None:
        """Forget the fork; the data files stay where they are."""
        _forks(self.jvm).remove(self.name)


def catalog_class(spark: str) -> str:
    """The catalog of forks in a line of Spark."""
    package = "org.apache.iceberg.spark"
    return f"{package}.SparkCachedTableCatalog" if spark.startswith("3.") else f"{package}.SparkRewriteTableCatalog"


def make(table: LakeTable, buffer: str) -> Fork:
    """Fork a table as it is now; data files will go to the directory `buffer`."""
    jvm, name, current = table.jvm, uuid.uuid4().hex, table.java.operations().current()
    properties = jvm("java.util.HashMap")(current.properties())
    if properties.containsKey(ENCRYPTION_KEY):
        raise _encrypted(table)
    properties.put("write.data.path", buffer)
    places = jvm.iceberg("LocationProviders").locationsFor(current.location(), properties)
    operations = jvm.iceberg("StaticTableOperations")(current, table.java.io(), places)
    fork = Fork(name, jvm.iceberg("BaseTable")(operations, f"fork-{name}"), jvm)
    _forks(jvm).add(name, fork.java)
    return fork


def _forks(jvm: Jvm) -> Any:
    return jvm.static("spark.SparkTableCache", "get")()


def _encrypted(table: LakeTable) -> JobError:
    # A fork does not know the catalog's keys: its files would be readable for everybody.
    return JobError(
        f"{table.java.name()} is encrypted, and buffers cannot be",
        code="encrypted-table",
        hint="set `commit: direct` on the output: Iceberg's own commit encrypts",
    )

"""The table that maintenance operations work on."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import SparkSession

from catchment.commit.listener import Listener
from catchment.commit.writer import Writer
from catchment.formats.iceberg.catalogs import Table
from catchment.formats.model import Needs
from catchment.plan.model import Dataset


@dataclass(frozen=True)
class MaintainedTable:
    """One table, with what others still need from it."""

    spark: SparkSession
    dataset: Dataset
    table: Table
    writer: Writer
    needs: Needs
    listener: Listener

    def head(self) -> int | None:
        """The current snapshot."""
        self.table.refresh()
        found = self.table.currentSnapshot()
        return None if found is None else int(found.snapshotId())

"""What changes and maintenance of tables have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import SparkSession

from catchment.commit.writer import Listener, Writer
from catchment.formats.iceberg.catalogs import Table
from catchment.plan.model import Dataset


@dataclass(frozen=True)
class Ward:
    """A table that is looked after."""

    spark: SparkSession
    dataset: Dataset
    table: Table
    writer: Writer
    listener: Listener


@dataclass(frozen=True)
class Upkeep:
    """What maintenance did."""

    files: int = 0
    """New data files, or files that were removed."""
    bytes: int = 0
    snapshot_id: int | None = None
    """The table's head afterwards."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """For people."""


@dataclass(frozen=True)
class Asker:
    """Who asks for a change: a person, or a job of a run."""

    by: str
    run_id: str | None = None
    job: str | None = None

    @property
    def told(self) -> tuple[str, str | None, str | None]:
        """For the record."""
        return self.by, self.run_id, self.job

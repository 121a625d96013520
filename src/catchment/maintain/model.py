"""What changes and maintenance of tables have in common."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import SparkSession

from catchment.commit.listener import Listener
from catchment.commit.writer import Writer
from catchment.formats.iceberg.catalogs import Table
from catchment.plan.model import Dataset

Arguments = Mapping[str, Any]
"""What a change is told."""
Metadata = Mapping[str, Any]
"""A table's metadata, as JSON of the Iceberg table spec."""


@dataclass(frozen=True)
class MaintainedTable:
    """A table that is looked after."""

    spark: SparkSession
    dataset: Dataset
    table: Table
    writer: Writer
    listener: Listener


@dataclass(frozen=True)
class MaintenanceResult:
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
    request: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def told(self) -> tuple[str, str | None, str | None]:
        """For the record."""
        return self.by, self.run_id, self.job

    @property
    def id(self) -> str:
        """Of the request: the same on every attempt of a job."""
        return f"{self.run_id}/{self.job}" if self.run_id else self.request


@dataclass(frozen=True)
class Staged:
    """A change, made or not: the table's metadata before and after it."""

    before: Metadata
    after: Metadata

    @property
    def changed(self) -> bool:
        """Whether there was anything to change."""
        return _lasting(self.before) != _lasting(self.after)


@dataclass(frozen=True)
class Kind:
    """One kind of change."""

    stage: Callable[[SparkSession, Any, Metadata, Arguments], None]
    """Puts the change into a transaction of Iceberg's, by the metadata that it begins from; raises what is wrong."""
    view: Callable[[Metadata, Arguments], Any]
    """What of the metadata it is about: reported before and after."""
    tell: Callable[[Staged, Arguments], Mapping[str, Any]] = lambda staged, arguments: {}
    """What else there is to report."""


def _lasting(metadata: Metadata) -> Metadata:
    return {key: value for key, value in metadata.items() if key not in ("last-updated-ms", "metadata-log")}

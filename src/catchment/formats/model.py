"""What every format can be asked, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession

from catchment.commit.model import Base
from catchment.commit.writer import Listener, Writer
from catchment.plan.model import InputPlan, OutputPlan


@dataclass(frozen=True)
class Capabilities:
    """What a format can do beyond taking and giving rows."""

    atomic: bool
    """Readers see a whole write or nothing of it."""
    history: bool
    """Earlier states can be read."""
    transforms: bool
    """Partitions may be computed from columns, not only be columns."""
    schema_evolution: bool
    remembers_writes: bool
    """A write id that is there is found again, so that a repeated write changes nothing."""


@dataclass(frozen=True)
class Write:
    """One output of one job in one run."""

    output: OutputPlan
    workflow: str
    job: str
    run_id: str
    since: Base | None = None
    """The state of the dataset when the job began, where a later change of it would matter."""

    @property
    def id(self) -> str:
        """The same on every attempt."""
        return f"{self.run_id}/{self.job}/{self.output.name}"


@dataclass(frozen=True)
class Written:
    """What a write came to."""

    rows: int | None
    files: int | None
    snapshot_id: int | None = None


class Format(Protocol):
    """One format of datasets."""

    capabilities: Capabilities

    def read(self, spark: SparkSession, source: InputPlan) -> DataFrame:
        """The rows of a dataset."""
        ...

    def begin(self, spark: SparkSession, output: OutputPlan) -> Base | None:
        """The state of the dataset before the job reads anything; None where later changes do not matter."""
        ...

    def write(self, spark: SparkSession, frame: DataFrame, write: Write, writer: Writer, listener: Listener) -> Written:
        """Put rows into a dataset, creating it where it is missing."""
        ...

"""What every format can be asked, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession

from catchment.commit.listener import Listener
from catchment.commit.writer import Writer
from catchment.plan.model import InputPlan, OutputPlan
from catchment.store.writes import Base, Entry


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
    inputs: Mapping[str, str] = field(default_factory=dict)
    """The states of the job's inputs by their names, where a later attempt may ask what the rows came from."""

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


def written(done: Entry) -> Written:
    """What a write of the ledger came to."""
    contents = done.contents
    return Written(contents.rows if contents else 0, contents.files if contents else 0, done.snapshot_id)


@dataclass(frozen=True)
class Earlier:
    """A write that an earlier attempt has computed: whole, durable, and not to be computed again."""

    written: Written
    committed: bool
    """False where it is sealed and not published yet."""
    inputs: Mapping[str, str]
    """The states of the inputs that it was computed from."""


class Format(Protocol):
    """One format of datasets."""

    capabilities: Capabilities

    def read(self, spark: SparkSession, source: InputPlan) -> DataFrame:
        """The rows of a dataset."""
        ...

    def state(self, spark: SparkSession, source: InputPlan) -> str | None:
        """What the state of an input is called: another name, other rows. None where it cannot change or be told."""
        ...

    def earlier(self, spark: SparkSession, write: Write, writer: Writer) -> Earlier | None:
        """What an earlier attempt has left of this very write, if it got as far as its seal."""
        ...

    def begin(self, spark: SparkSession, output: OutputPlan) -> Base | None:
        """The state of the dataset before the job reads anything; None where later changes do not matter."""
        ...

    def write(self, spark: SparkSession, frame: DataFrame, write: Write, writer: Writer, listener: Listener) -> Written:
        """Put rows into a dataset, creating it where it is missing."""
        ...


class History(Protocol):
    """A format whose commits can be read one after the other."""

    def commits(self, spark: SparkSession, source: InputPlan, known: str | None) -> tuple[str | None, str] | None:
        """What an input that reads by commits has before it: from after a commit (None: the beginning) to another.

        `known` is the last commit it has read. None where there is nothing at all; raises where the history between the
        two is gone, or does not only add rows.
        """
        ...

    def read_commits(self, spark: SparkSession, source: InputPlan, first: str | None, last: str) -> DataFrame:
        """The rows that were added after one commit, up to another."""
        ...

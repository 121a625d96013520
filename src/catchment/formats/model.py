"""What formats can be asked, in small protocols: each format keeps those that it can."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Protocol, runtime_checkable

from pyspark.sql import DataFrame, SparkSession

from catchment.commit.listener import Listener
from catchment.commit.own_commit import Committed
from catchment.commit.recovery import Recovered
from catchment.commit.writer import Writer
from catchment.errors import CatchmentError
from catchment.formats.sql_names import Edit
from catchment.plan.model import ChangePlan, Clause, Dataset, InputPlan, Maintenance, OutputPlan
from catchment.project.model import Depot
from catchment.store.in_flight import InFlight
from catchment.store.publications import Publication
from catchment.store.writes import Base, Entry

Facts = Mapping[str, Any]
"""An answer for people: plain JSON."""


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


@runtime_checkable
class Source(Protocol):
    """A format that can be read."""

    def read(self, spark: SparkSession, source: InputPlan) -> DataFrame:
        """The rows of a dataset."""
        ...

    def state(self, spark: SparkSession, source: InputPlan) -> str | None:
        """What the state of an input is called: another name, other rows. None where it cannot change or be told."""
        ...


@runtime_checkable
class Sink(Protocol):
    """A format that can be written: it fills a buffer, seals it, and its destination consolidates what is sealed."""

    def begin(self, spark: SparkSession, output: OutputPlan) -> Base | None:
        """The state of the dataset before the job reads anything; None where later changes do not matter."""
        ...

    def earlier(self, spark: SparkSession, write: Write, writer: Writer) -> Earlier | None:
        """What an earlier attempt has left of this very write, if it got as far as its seal."""
        ...

    def write(self, spark: SparkSession, frame: DataFrame, write: Write, writer: Writer, listener: Listener) -> Written:
        """Put rows into a dataset, creating it where it is missing."""
        ...


@runtime_checkable
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


@runtime_checkable
class Inspects(Protocol):
    """A format whose tables can be asked about; which questions it answers, its traits say."""

    def tables(self, spark: SparkSession, depot: Depot) -> Sequence[Facts]:
        """Every table of a depot, with its address."""
        ...

    def inspect(self, spark: SparkSession, what: str, dataset: Dataset, published: str | None) -> Facts:
        """Answer one question about a table; `published` is the published catalog of its depot."""
        ...


@runtime_checkable
class Recovers(Protocol):
    """A format whose datasets may be left unfinished by engines that are gone."""

    def recover(self, spark: SparkSession, dataset: Dataset, writer: Writer, *, remove: bool) -> Recovered:
        """Finish or give up what is unfinished; files of abandoned writes go only where `remove` says so."""
        ...


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


@runtime_checkable
class Changes(Protocol):
    """A format whose tables can be changed beside writing rows; which changes it knows, its traits say."""

    def change(
        self,
        spark: SparkSession,
        change: ChangePlan,
        asker: Asker,
        writer: Writer,
        listener: Listener,
        *,
        dry_run: bool,
    ) -> Facts:
        """Make a change, or look what it would come to; one that was made already is not made twice."""
        ...


@dataclass(frozen=True)
class Follower:
    """An input of an incremental job, and the snapshot from which its next window is read."""

    workflow: str
    job: str
    input: str
    snapshot: int
    since: float
    """Seconds since 1970."""

    def __str__(self) -> str:
        where = f"job {self.job} of workflow {self.workflow} is at snapshot {self.snapshot} since {self._moment()}"
        return f"{where} (`catchment state reset {self.workflow} {self.job}` lets go of it)"

    def facts(self) -> Facts:
        """For people."""
        named = {"workflow": self.workflow, "job": self.job, "input": self.input}
        return {**named, "snapshot_id": self.snapshot, "since": self._moment()}

    def _moment(self) -> str:
        return datetime.fromtimestamp(self.since, tz=timezone.utc).isoformat(timespec="seconds")


class Needs(Protocol):
    """What others still need of a table, asked for when it matters: each answer is true of that moment."""

    def writes(self) -> InFlight:
        """What writes on their way need."""
        ...

    def readers_since(self) -> float | None:
        """Since when the longest of those who read now has been reading, in seconds since 1970; None: nobody reads."""
        ...

    def followers(self, history: Collection[int]) -> Sequence[Follower]:
        """The incremental jobs whose next window begins at one of these snapshots."""
        ...

    def publications(self) -> Sequence[Publication]:
        """What readers of the published catalog were shown, oldest first."""
        ...


@dataclass(frozen=True)
class MaintenanceResult:
    """What maintenance did."""

    files: int = 0
    """New data files, or files that were removed."""
    bytes: int = 0
    snapshot_id: int | None = None
    """The table's head afterwards."""
    facts: Facts = field(default_factory=dict)
    """For people."""


class MaintainedTable(Protocol):
    """A table that is maintained."""

    @property
    def branch(self) -> str:
        """The branch that maintenance is about."""
        ...

    @property
    def base(self) -> Base:
        """The state of the table now."""
        ...

    def head(self) -> int | None:
        """The newest commit, None where there is none."""
        ...

    def find(self, write_id: str) -> Committed | None:
        """What a write in the table's history came to; None where it is not there."""
        ...

    def perform(self, operation: Maintenance) -> MaintenanceResult:
        """Do what is asked for. It changes no row, so that doing it again does no harm."""
        ...

    def preview(self, operation: Maintenance) -> MaintenanceResult:
        """What it would come to; nothing is written."""
        ...


@runtime_checkable
class Maintains(Protocol):
    """A format whose tables can be maintained; which operations it knows, its traits say."""

    def maintained(
        self, spark: SparkSession, dataset: Dataset, writer: Writer, needs: Needs, listener: Listener
    ) -> MaintainedTable:
        """A table; raises where there is none."""
        ...

    def delete_rows(
        self, spark: SparkSession, condition: Clause, write: Write, writer: Writer, listener: Listener
    ) -> Written:
        """Delete the rows that meet a condition, unless this very write has been committed before."""
        ...


@runtime_checkable
class RewritesSql(Protocol):
    """A format whose tables Spark finds under other names than people use, or may not write everywhere."""

    def edits(self, sql: str, depots: Sequence[Depot]) -> Iterable[Edit]:
        """What must be replaced in a statement so that Spark finds the tables of these depots."""
        ...

    def check(self, sql: str, depots: Sequence[Depot]) -> None:
        """Refuse a statement that must not run."""
        ...


@runtime_checkable
class Publishes(Protocol):
    """A format whose depots may have a published catalog: its readers see chosen versions of tables."""

    def published(self, sql: str, depots: Sequence[Depot]) -> str:
        """A query with every table looked up in the published catalog of its depot."""
        ...

    def unpublished(self, spark: SparkSession, sql: str, depots: Sequence[Depot]) -> CatchmentError | None:
        """Why a query finds no table: nobody has published it. None where that is not the reason."""
        ...


@runtime_checkable
class ClosesSessions(Protocol):
    """A format that keeps something open for a session of Spark's."""

    def close(self, session: SparkSession) -> None:
        """Give back what it has opened."""
        ...

"""The protocols of formats: each format implements those that it supports."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Protocol, runtime_checkable

from pyspark.sql import DataFrame, SparkSession

from catchment.commit.committed import Committed
from catchment.commit.listener import Listener
from catchment.commit.recovery import Recovered
from catchment.commit.writer import Writer
from catchment.errors import CatchmentError, JobError
from catchment.formats.facts import Facts as Facts
from catchment.formats.sql_names import Edit
from catchment.formats.write_model import EarlierWrite as EarlierWrite
from catchment.formats.write_model import Write as Write
from catchment.formats.write_model import Written as Written
from catchment.formats.write_model import written as written
from catchment.plan.model import ChangePlan, Clause, Dataset, InputPlan, Maintenance, OutputPlan
from catchment.project.model import Depot
from catchment.run_model import snapshot_name
from catchment.store.in_flight import InFlight
from catchment.store.publications import Publication
from catchment.store.writes import Base, Entry
from catchment.table_health import TableHealth


@runtime_checkable
class Source(Protocol):
    """A format that can be read."""

    def read(self, spark: SparkSession, source: InputPlan) -> DataFrame:
        """The rows of a dataset."""
        ...

    def input_version(self, spark: SparkSession, source: InputPlan) -> str | None:
        """A string that changes whenever the rows of an input change; None if they cannot change or this is unknown."""
        ...


@runtime_checkable
class Streams(Protocol):
    """A format whose new rows can be read as a stream; its traits say so too."""

    def read_stream(self, spark: SparkSession, source: InputPlan) -> DataFrame:
        """The rows of a dataset as a stream of batches."""
        ...


@runtime_checkable
class IdentifiesStreams(Protocol):
    """A format whose streams do not notice when another dataset takes the place of theirs."""

    def stream_identity(self, spark: SparkSession, source: InputPlan) -> str | None:
        """Distinguishes a dataset from earlier and later ones of the same name; None if that makes no difference."""
        ...


@runtime_checkable
class CountsCommits(Protocol):
    """A format whose streams move from commit to commit, and do not say how many are still to be read."""

    def commits_after(self, spark: SparkSession, source: InputPlan, offset: Mapping[str, Any]) -> int | None:
        """The number of commits after the one that a stream has reached; None if the offset is not in this dataset."""
        ...


@dataclass(frozen=True)
class BadRow:
    """A row that cannot be parsed."""

    file: str
    reason: str
    line: int | None = None
    """Counted from 1; None if the file's records are not lines."""

    def __str__(self) -> str:
        return f"{self.file}{f':{self.line}' if self.line else ''} ({self.reason})"


@dataclass(frozen=True)
class FoundBadRows:
    """The number of rows of an input that cannot be parsed, and the first few of them."""

    rows: int
    files: int
    """How many files have such rows."""
    first: tuple[BadRow, ...]


@dataclass(frozen=True)
class SeparatedRows:
    """The good and the bad rows of an input, from one listing of its files."""

    good: DataFrame
    bad: DataFrame
    """One row per bad record, with the columns `file`, `reason` and `record` (the text that cannot be parsed)."""


@runtime_checkable
class FindsBadRows(Protocol):
    """A format whose records are parsed from text, so that some of them may be bad (trait `bad_rows`)."""

    def separate(self, spark: SparkSession, source: InputPlan) -> SeparatedRows:
        """The good and the bad rows of an input."""
        ...

    def find_bad_rows(self, spark: SparkSession, source: InputPlan, show: int) -> FoundBadRows:
        """Count the bad rows of an input and describe the first ones; this reads the whole input."""
        ...


@runtime_checkable
class Sink(Protocol):
    """A format that can be written."""

    def begin(self, spark: SparkSession, output: OutputPlan) -> Base | None:
        """The state of the dataset before the job reads anything; None if later changes are no conflict."""
        ...

    def earlier(self, spark: SparkSession, write: Write, writer: Writer) -> EarlierWrite | None:
        """This write as an earlier attempt has sealed or committed it; None if no attempt got that far."""
        ...

    def write(self, spark: SparkSession, frame: DataFrame, write: Write, writer: Writer, listener: Listener) -> Written:
        """Write rows to a dataset, which is created if it is missing."""
        ...


@runtime_checkable
class History(Protocol):
    """A format whose commits can be read one after the other."""

    def commits(self, spark: SparkSession, source: InputPlan, known: str | None) -> tuple[str | None, str] | None:
        """The commits that an input reads next, as (last commit already read or None, newest commit).

        `known` is the last commit that the input has read. None if the table has no commit; raises if the history
        between the two is gone or does not only add rows.
        """
        ...

    def read_commits(self, spark: SparkSession, source: InputPlan, first: str | None, last: str) -> DataFrame:
        """The rows that were added after one commit, up to another."""
        ...


@runtime_checkable
class RemembersWindows(Protocol):
    """A format whose history records which windows of incremental jobs were written to a table."""

    def windows(self, spark: SparkSession, dataset: Dataset, since: float) -> Iterable[Facts]:
        """The windows of the writes that were committed since a time (seconds since 1970), the newest first."""
        ...


@runtime_checkable
class Inspects(Protocol):
    """A format whose tables can be inspected; its traits list the questions that it answers."""

    def tables(self, spark: SparkSession, depot: Depot) -> Sequence[Facts]:
        """Every table of a depot, with its address."""
        ...

    def inspect(self, spark: SparkSession, what: str, dataset: Dataset, published: str | None) -> Facts:
        """Answer one question about a table; `published` is the published catalog of its depot."""
        ...


@runtime_checkable
class Recovers(Protocol):
    """A format in which engines that died may leave unfinished writes."""

    def recover(self, spark: SparkSession, dataset: Dataset, writer: Writer, *, remove: bool) -> Recovered:
        """Finish or abandon unfinished writes; files of abandoned writes are removed only if `remove` is set."""
        ...


@dataclass(frozen=True)
class Requester:
    """Who requested a change: a person, or a job of a run."""

    by: str
    run_id: str | None = None
    job: str | None = None
    request: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def recorded(self) -> tuple[str, str | None, str | None]:
        """The values that a record of the change keeps."""
        return self.by, self.run_id, self.job

    @property
    def id(self) -> str:
        """The id of the request, which is the same on every attempt of a job."""
        return f"{self.run_id}/{self.job}" if self.run_id else self.request


@runtime_checkable
class ChangesTables(Protocol):
    """A format whose table metadata can be changed; its traits list the changes that it supports."""

    def change(
        self,
        spark: SparkSession,
        change: ChangePlan,
        requester: Requester,
        writer: Writer,
        listener: Listener,
        *,
        dry_run: bool,
    ) -> Facts:
        """Make a change, or preview it; a change that was made already is not made twice."""
        ...


@dataclass(frozen=True)
class Follower:
    """An input of an incremental job, and the snapshot that its next window starts from."""

    workflow: str
    job: str
    input: str
    snapshot: int
    since: float
    """Seconds since 1970."""

    def __str__(self) -> str:
        where = f"job {self.job} of workflow {self.workflow} is at snapshot {self.snapshot} since {self._moment()}"
        return f"{where} (`catchment state reset {self.workflow} {self.job}` releases it)"

    def facts(self) -> Facts:
        """The follower as part of a report."""
        named = {"workflow": self.workflow, "job": self.job, "input": self.input}
        return {**named, "snapshot_id": snapshot_name(self.snapshot), "since": self._moment()}

    def _moment(self) -> str:
        return datetime.fromtimestamp(self.since, tz=timezone.utc).isoformat(timespec="seconds")


class Needs(Protocol):
    """What others still need from a table; each method answers as of the call."""

    def of(self, target: str) -> Needs:
        """The needs of another table."""
        ...

    def writes(self, table_uuid: str | None = None) -> InFlight:
        """What unfinished writes need; with the table's uuid, also those under another name of it."""
        ...

    def readers_since(self) -> float | None:
        """When the oldest current reader began, in seconds since 1970; None if nobody is reading."""
        ...

    def followers(self, history: Mapping[str, int]) -> Sequence[Follower]:
        """The incremental jobs whose next window begins at one of these snapshots, keyed by the names in job state."""
        ...

    def publications(self) -> Sequence[Publication]:
        """The versions that were published for readers, oldest first."""
        ...


@dataclass(frozen=True)
class MaintenanceResult:
    """The result of a maintenance action."""

    files: int = 0
    """The number of new data files, or of files that were removed."""
    bytes: int = 0
    snapshot_id: int | None = None
    """The table's head afterwards."""
    facts: Facts = field(default_factory=dict)
    """The report."""


class MaintainedTable(Protocol):
    """A table and the maintenance actions that can run on it."""

    @property
    def branch(self) -> str:
        """The branch that maintenance works on."""
        ...

    @property
    def base(self) -> Base:
        """The state of the table now."""
        ...

    @property
    def write_only(self) -> bool:
        """Whether its writers leave the expiry of snapshots to compaction."""
        ...

    def head(self) -> int | None:
        """The newest commit; None if there is none."""
        ...

    def find(self, write: Entry) -> Committed | JobError | None:
        """The commit of a write; an error if its history has expired; None if the write was not committed."""
        ...

    def perform(self, operation: Maintenance) -> MaintenanceResult:
        """Run an action. It changes no row, so it is safe to repeat."""
        ...

    def preview(self, operation: Maintenance) -> MaintenanceResult:
        """Report what an action would do; nothing is written."""
        ...

    def health(self, small_file_bytes: int | None) -> TableHealth:
        """How well the table's files serve its readers; a file below the given size counts as small."""
        ...


@runtime_checkable
class Maintains(Protocol):
    """A format whose tables can be maintained; its traits list the operations that it supports."""

    def maintained(
        self, spark: SparkSession, dataset: Dataset, writer: Writer, needs: Needs, listener: Listener
    ) -> MaintainedTable:
        """The table of a dataset; raises if there is none."""
        ...

    def delete_rows(
        self, spark: SparkSession, condition: Clause, write: Write, writer: Writer, listener: Listener
    ) -> Written:
        """Delete the rows that meet a condition, unless this write is committed already."""
        ...


@runtime_checkable
class RewritesSql(Protocol):
    """A format whose tables have different names in Spark."""

    def edits(self, sql: str, depots: Sequence[Depot]) -> Iterable[Edit]:
        """The replacements that let Spark find the tables of these depots in a statement."""
        ...


@runtime_checkable
class Publishes(Protocol):
    """A format whose depots may have a published catalog, whose readers see only published versions of tables."""

    def published(self, sql: str, depots: Sequence[Depot]) -> str:
        """A query with every table looked up in the published catalog of its depot."""
        ...

    def unpublished(self, spark: SparkSession, sql: str, depots: Sequence[Depot]) -> CatchmentError | None:
        """The error if a query does not find a table because it was never published; otherwise None."""
        ...


@runtime_checkable
class PreparesEngines(Protocol):
    """A format that needs more from an engine than jars and settings."""

    def prepare(self, session: SparkSession) -> None:
        """Prepare an engine that has just started."""
        ...


@runtime_checkable
class ClosesSessions(Protocol):
    """A format that holds resources for each Spark session."""

    def close(self, session: SparkSession) -> None:
        """Release the resources of a session."""
        ...

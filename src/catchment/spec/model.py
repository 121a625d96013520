"""The canonical workflow: what every spelling of the dialect becomes. Frozen, typed, every part knows its position."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from catchment.errors import Diagnostic, Position
from catchment.spec.secret import Secret as Secret
from catchment.spec.sql_clause import Clause as Clause
from catchment.spec.sql_clause import SourceLine as SourceLine
from catchment.spec.sql_clause import sql_position as sql_position
from catchment.spec.sql_template import Template
from catchment.spec.streaming import Streaming

LogLevel = Literal["DEBUG", "INFO", "WARN", "ERROR"]
SaveMode = Literal["append", "overwrite", "overwrite-partitions", "merge", "delete", "maintain"]
"""`maintain` changes a table's files or metadata, but none of its rows."""
CommitWay = Literal["buffered", "direct"]
"""Through a buffer, or with the format's own commit."""
Conflict = Literal["last-wins", "fail", "rerun"]
"""What a dynamic overwrite does when another write was committed to its partitions since the job began."""
BadRows = Literal["fail", "drop", "quarantine", "keep"]
"""What happens to rows of an input that cannot be parsed. `keep` is Spark's mode PERMISSIVE: they get NULLs."""
Concurrency = Literal["Allow", "Forbid", "Replace"]
"""What happens to a tick while the run of an earlier tick is still running."""
Catchup = Literal["none", "last", "all"]
"""Which missed ticks are run later."""
RetryStrategy = Literal["Always", "OnFailure", "OnError", "OnTransientError"]
ChangeName = Literal[
    "set_version",
    "rollback",
    "set_snapshot",
    "tag_create",
    "tag_delete",
    "branch_create",
    "branch_delete",
    "branch_fast_forward",
    "properties_set",
    "properties_unset",
    "column_add",
    "column_drop",
    "column_rename",
    "column_widen",
    "partition_add",
    "partition_drop",
    "partition_replace",
]
"""Changes of a table other than writing rows, made by a toolbox job or on the command line."""
Transform = Literal["identity", "year", "month", "day", "hour", "bucket", "truncate"]


@dataclass(frozen=True)
class Retry:
    """How often a job is retried, and the pauses between attempts (seconds)."""

    count: int = 0
    strategy: RetryStrategy = "OnFailure"
    pause: float = 0.0
    """The dialect's `duration`: the pause before the first retry; it doubles with each further one."""
    max_duration: float | None = None
    """No retry starts later than this many seconds after the job's first attempt began."""


@dataclass(frozen=True)
class Key:
    """One key of an incremental window."""

    name: str
    sql: Template
    where: Position
    live: bool = False
    """Whether its value depends on the data or the clock; if the value has not changed, there is nothing new."""


@dataclass(frozen=True)
class Incremental:
    """A windowed read: `context` names the whole dataset, `window` selects the window, `state` advances it."""

    context: str
    window: Template
    keys: tuple[Key, ...]
    state: Mapping[str, str]
    """Key of the next run -> key of this run whose value it takes."""
    where: Position
    newer: Template | None = None
    """The window without its end; if this is empty too, the source has nothing new. None if it cannot be derived."""


@dataclass(frozen=True)
class Commits:
    """A read of the rows that were committed since the last run."""

    where: Position
    since: str | None = None
    """The timestamp at which the first run begins; without it, the first run reads the whole dataset."""


@dataclass(frozen=True)
class Input:
    name: str
    dataset: str
    """The address as written."""
    where: Position
    dataset_where: Position
    format: str | None = None
    """Lower case; None if the file names no format."""
    options: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, Position] = field(default_factory=dict)
    """Where `badRows`, `quarantine`, `schemaPath` and the options are given."""
    bad_rows: BadRows | None = None
    """None if the file does not set it."""
    quarantine: str | None = None
    """Address of the dataset for bad rows; given if and only if they are quarantined."""
    schema: str | None = None
    """Text of the schema given as `schemaString` (or `schema`), as written."""
    schema_path: str | None = None
    """Address of the file that holds the schema; at most one of `schema` and `schema_path` is given."""
    schema_type: Literal["avro", "spark"] = "spark"
    incremental: Incremental | None = None
    commits: Commits | None = None
    """At most one of `incremental` and `commits` is given."""
    is_stream: bool | None = None
    """Whether it is read as a stream; None if the file does not set it."""


@dataclass(frozen=True)
class Step:
    name: str
    sql: str
    where: Position
    sql_where: Position
    """Position of the first character of the SQL: in the workflow file, or 1:1 of a `sqlFile`."""
    sql_lines: tuple[SourceLine, ...] = ()
    """Position of each line of the SQL in that file, for `sql_position`."""


@dataclass(frozen=True)
class Merge:
    """A merge of a view into a table: which rows match, and what happens to them."""

    on: Clause
    """The condition alone, without ON."""
    when: Clause
    """From MATCHED or NOT MATCHED on, without the first WHEN."""
    where: Position
    target: str = "old"
    """What the clauses call the table."""
    source: str = "new"
    """What the clauses call the view."""


@dataclass(frozen=True)
class PartitionField:
    transform: Transform
    column: str
    where: Position
    name: str | None = None
    argument: int | None = None
    """numBuckets of bucket, width of truncate."""


@dataclass(frozen=True)
class KeyColumn:
    """A column of a primary key."""

    column: str
    where: Position


@dataclass(frozen=True)
class SortColumn:
    name: str
    descending: bool = False


@dataclass(frozen=True)
class Sort:
    mode: Literal["partition", "global"]
    columns: tuple[SortColumn, ...]


@dataclass(frozen=True)
class Output:
    name: str
    """Unique in the job: part of the write id. If several outputs write one view, later ones get a number."""
    source: str
    """The view that is written: a step's or an input's name."""
    dataset: str
    where: Position
    dataset_where: Position
    format: str | None = None
    mode: SaveMode = "overwrite"
    partitions: tuple[PartitionField, ...] = ()
    """From `partitionSpec`; plain `partitionBy` columns arrive as identity transforms."""
    primary_key: tuple[KeyColumn, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    """Table properties, without the dialect's own `overwrite-mode`."""
    sort: Sort | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    """Writer options (`extraOptions`)."""
    option_places: Mapping[str, Position] = field(default_factory=dict)
    """Where `conflict`, `compressionType`, `properties` and the writer options are given."""
    compression: str | None = None
    merge_schema: bool = False
    merge: Merge | None = None
    """Given if and only if the mode is merge."""
    commit: CommitWay = "buffered"
    conflict: Conflict = "last-wins"
    linger: float | None = None
    """Seconds; None for the project's setting."""
    title: str | None = None
    description: str | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Delete:
    """Remove rows."""

    condition: Clause
    """Which rows are deleted, without WHERE."""
    kind: Literal["delete_from_dataset"] = "delete_from_dataset"


@dataclass(frozen=True)
class Partition:
    """One partition of a table."""

    values: Mapping[str, str | None]
    """The value of each partition column as text, as `catchment table partitions` lists it; None for null."""
    where: Position | None = None

    def __str__(self) -> str:
        return "/".join(f"{name}={NULL_PARTITION if value is None else value}" for name, value in self.values.items())


NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""The directory of the rows whose partition column is null, as Hive and Spark name it."""


@dataclass(frozen=True)
class Rewrite:
    """Rewrite many small data files into a few large ones."""

    strategy: Literal["binpack", "sort"] = "binpack"
    order: str | None = None
    """Of strategy sort: `col ASC NULLS LAST`, `zorder(a, b)`; None for the table's own."""
    condition: Clause | None = None
    """Only files that may contain such rows are rewritten."""
    properties: Mapping[str, str] = field(default_factory=dict)
    partitions: tuple[Partition, ...] = ()
    """Only these partitions; all of them if empty."""
    kind: Literal["rewrite_dataset"] = "rewrite_dataset"


@dataclass(frozen=True)
class RewriteManifests:
    """Rewrite many small manifests into a few large ones."""

    caching: bool = True
    kind: Literal["rewrite_manifest"] = "rewrite_manifest"


@dataclass(frozen=True)
class Expire:
    """Remove old snapshots, and the files that only they need."""

    before: int | None = None
    """Milliseconds since 1970; None for the age set in the table's properties."""
    snapshot_ids: tuple[str, ...] = ()
    """If given, only these snapshots are removed."""
    retain_last: int = 1
    deletes: int | None = None
    """How many files are removed at the same time."""
    stream: bool = False
    kind: Literal["expire_snapshots"] = "expire_snapshots"


@dataclass(frozen=True)
class RemoveOrphans:
    """Remove files that no snapshot refers to."""

    before: int | None = None
    """Milliseconds since 1970; None for three days before the action runs."""
    location: str | None = None
    dry_run: bool = False
    deletes: int | None = None
    kind: Literal["remove_orphans"] = "remove_orphans"


Operation = Delete | Rewrite | RewriteManifests | Expire | RemoveOrphans
"""What an action does to a table."""


@dataclass(frozen=True)
class Action:
    """What a job does to the table of one of its inputs."""

    name: str
    """Unique in the job, among its outputs too: part of the write id."""
    input: str
    where: Position
    operation: Operation


@dataclass(frozen=True)
class Toolbox:
    """A job of the toolbox stack: one change of one table."""

    dataset: str
    change: ChangeName
    arguments: Mapping[str, Any]
    """The other keys of the action, under the names that the file uses."""
    where: Position
    """Position of the action, or of its `value` if it has one."""
    dataset_where: Position


@dataclass(frozen=True)
class Job:
    name: str
    where: Position
    stack: str
    compute: str | None = None
    compute_where: Position | None = None
    title: str | None = None
    description: str | None = None
    tags: tuple[str, ...] = ()
    part_of: tuple[str, ...] = ()
    """The DAG nodes through which the job's file is included."""
    dependencies: tuple[tuple[str, Position], ...] = ()
    retry: Retry = field(default_factory=Retry)
    log_level: LogLevel = "INFO"
    envs: Mapping[str, str] = field(default_factory=dict)
    spark_conf: Mapping[str, str] = field(default_factory=dict)
    """`sparkConf`, with driver and executor settings under Spark's own keys."""
    explain: bool = False
    preview_rows: int = 0
    side_effects: bool = False
    """Whether steps may change more than their own session."""
    names: frozenset[str] = frozenset()
    """The names of all inputs and steps in lower case, including those that could not be read."""
    inputs: tuple[Input, ...] = ()
    steps: tuple[Step, ...] = ()
    outputs: tuple[Output, ...] = ()
    streaming: Streaming | None = None
    actions: tuple[Action, ...] = ()
    toolbox: Toolbox | None = None


@dataclass(frozen=True)
class Schedule:
    cron: str
    where: Position
    timezone: str | None = None
    concurrency: Concurrency = "Allow"
    end_on: str | None = None
    catchup: Catchup = "none"


@dataclass(frozen=True)
class Workflow:
    name: str
    file: str
    where: Position
    version: str = "v1"
    title: str | None = None
    description: str | None = None
    tags: tuple[str, ...] = ()
    owner: str | None = None
    workspace: str = "public"
    schedule: Schedule | None = None
    jobs: tuple[Job, ...] = ()


@dataclass(frozen=True)
class Loaded:
    """What could be read of a workflow file. It is complete only if no diagnostic is an error."""

    workflow: Workflow | None
    """None if not even the head of the file could be read."""
    diagnostics: tuple[Diagnostic, ...]
    secrets: tuple[Secret, ...] = ()
    settled: tuple[tuple[Position, Position], ...] = ()
    """Start and end of each value whose problem is among the diagnostics; nothing else is reported about it."""
    variables: Mapping[str, str | None] = field(default_factory=dict)
    """The variables that the workflow declares, with their values; None for one whose value is wrong or missing."""
    files: tuple[Path, ...] = ()
    """The workflow file and all files that it names."""

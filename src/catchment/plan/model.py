"""The plan as plain data. It is also sent to engines, so this module knows neither YAML nor Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from catchment.errors import Position
from catchment.project.model import Depot, Engine, Settings
from catchment.run_model import Choices
from catchment.spec.model import BadRows as BadRows
from catchment.spec.model import ChangeName as ChangeName
from catchment.spec.model import Clause as Clause
from catchment.spec.model import Commits as Commits
from catchment.spec.model import CommitWay, Conflict, Operation, Retry, SaveMode, SourceLine, sql_position
from catchment.spec.model import Delete as Delete
from catchment.spec.model import Expire as Expire
from catchment.spec.model import Incremental as Incremental
from catchment.spec.model import Key as Key
from catchment.spec.model import KeyColumn as KeyColumn
from catchment.spec.model import LogLevel as LogLevel
from catchment.spec.model import Merge as Merge
from catchment.spec.model import Partition as Partition
from catchment.spec.model import PartitionField as PartitionField
from catchment.spec.model import RemoveOrphans as RemoveOrphans
from catchment.spec.model import Rewrite as Rewrite
from catchment.spec.model import RewriteManifests as RewriteManifests
from catchment.spec.model import Sort as Sort
from catchment.spec.sql_template import Template as Template
from catchment.spec.streaming import OutputMode, Trigger

Maintenance = Rewrite | RewriteManifests | Expire | RemoveOrphans
"""Operations that change files or metadata of a table, but no rows."""


@dataclass(frozen=True)
class Dataset:
    """A resolved address: a table of a catalog, a table at a path, a path of files, or something on a server."""

    address: str
    """Canonical text, without acl."""
    depot: str
    format: str
    """A name in the registry of formats."""
    namespace: str | None = None
    """Tables only: the collection."""
    table: str | None = None
    path: str | None = None
    """Absolute path or URI of files, or of a table that is found by path."""
    named: bool = False
    """Whether the depot's catalog has a name for a table at a path; the path is then that of a new table."""
    topic: str | None = None
    """Its name on the servers of the depot; it then has neither table nor path."""

    @property
    def is_table(self) -> bool:
        """Whether it is a table, which has commits, and not plain files."""
        return self.table is not None

    @property
    def target(self) -> str:
        """Its name in the ledger and in leases: the address of a table, the path of files."""
        return self.path if self.path is not None and not self.is_table else self.address

    @property
    def identifier(self) -> str:
        """The table's name in Spark SQL: `depot`.`collection`.`table`, or its path."""
        if self.path is not None:
            return f"{self.format}.`{self.path}`"
        return ".".join(f"`{part}`" for part in (self.depot, self.namespace, self.table) if part)


@dataclass(frozen=True)
class FileAddress:
    """The resolved address of one file."""

    address: str
    depot: str
    path: str
    """Absolute path or URI."""


@dataclass(frozen=True)
class InputPlan:
    name: str
    dataset: Dataset
    where: Position
    options: Mapping[str, str] = field(default_factory=dict)
    """In lower case, except names with a dot."""
    schema: str | None = None
    schema_type: Literal["avro", "spark"] = "spark"
    incremental: Incremental | None = None
    commits: Commits | None = None
    bad_rows: BadRows = "fail"
    """What happens to rows that cannot be parsed; formats whose rows are not parsed have none."""
    quarantine: str | None = None
    """The name of the output that bad rows are written to, if they are quarantined."""
    schema_file: FileAddress | None = None
    """The file that holds the schema, if `schema` is not given."""
    stream: bool = False
    """Whether it is read as a stream: in batches, each of which has what is new."""

    @property
    def moves(self) -> bool:
        """Whether the input has incremental state, so that a run reads on from the previous one."""
        return self.commits is not None or (self.incremental is not None and bool(self.incremental.state))


@dataclass(frozen=True)
class StepPlan:
    name: str
    sql: str
    where: Position
    sql_where: Position
    sql_lines: tuple[SourceLine, ...] = ()
    """The position of each line of the SQL in its file; see `position`."""

    def position(self, line: int, column: int) -> Position:
        """The position in the file of a place in the SQL; lines count from 1 and columns from 0, as in Spark."""
        return sql_position(self.sql, self.sql_where, self.sql_lines, line, column)

    def at_offset(self, offset: int) -> Position:
        """The position in the file of a character of the SQL."""
        before = self.sql[:offset]
        return self.position(before.count("\n") + 1, offset - (before.rfind("\n") + 1))


@dataclass(frozen=True)
class OutputPlan:
    name: str
    source: str
    """The view to write: the name of a step or an input."""
    dataset: Dataset
    where: Position
    mode: SaveMode = "overwrite"
    partitions: tuple[PartitionField, ...] = ()
    primary_key: tuple[KeyColumn, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    sort: Sort | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    compression: str | None = None
    merge_schema: bool = False
    merge: Merge | None = None
    """Set if and only if the mode is merge."""
    commit: CommitWay = "buffered"
    conflict: Conflict = "last-wins"
    linger: float = 0.0
    """How many seconds the sealed write waits for other writes of the run to the same table, to share their commit."""
    comment: str | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Expiry:
    """Snapshots are expired by their age when the action runs."""

    retention: float | None = None
    """In seconds; None for the default of the format."""


@dataclass(frozen=True)
class ActionPlan:
    """An action on the table of one of a job's inputs, with an output that gives it a write id."""

    operation: Operation
    output: OutputPlan
    expiry: Expiry | None = None
    """What a compaction does afterwards, if the writers of the table leave that to it."""


@dataclass(frozen=True)
class ChangePlan:
    """A change of a table's metadata."""

    name: ChangeName
    dataset: Dataset
    arguments: Mapping[str, Any]
    published: str | None = None
    """The published catalog of the table's depot, if it has one."""
    where: Position | None = None
    """Its position in the workflow, if it is part of one."""


@dataclass(frozen=True)
class StreamPlan:
    """How a job runs that reads a stream."""

    checkpoint: str
    """Absolute path or URI of the directory that remembers what was read."""
    trigger: Trigger = "back-to-back"
    interval: float | None = None
    """Seconds between the beginnings of two batches, of the trigger processing-time."""
    output_mode: OutputMode = "append"
    where: Position | None = None
    """The position of the checkpoint, or else of the first input that is a stream."""

    @property
    def endless(self) -> bool:
        """Whether it runs until somebody stops it."""
        return self.trigger != "available-now"


@dataclass(frozen=True)
class JobPlan:
    name: str
    engine: str
    """Key of an `EnginePlan`."""
    where: Position
    depends_on: tuple[str, ...] = ()
    inputs: tuple[InputPlan, ...] = ()
    steps: tuple[StepPlan, ...] = ()
    outputs: tuple[OutputPlan, ...] = ()
    stream: StreamPlan | None = None
    """Given if and only if an input is a stream."""
    actions: tuple[ActionPlan, ...] = ()
    change: ChangePlan | None = None
    """The change that a toolbox job makes; such a job has no other parts."""
    conf: Mapping[str, str] = field(default_factory=dict)
    """Settings of the job's session, which Spark can change at run time."""
    log_level: LogLevel = "INFO"
    explain: bool = False
    preview_rows: int = 0
    side_effects: bool = False
    """Whether steps may change more than their own session; such a job is not retried by itself."""
    retry: Retry = field(default_factory=Retry)

    @property
    def writes(self) -> tuple[OutputPlan, ...]:
        """Everything the job writes, in order: its outputs, then those of its actions."""
        return (*self.outputs, *(action.output for action in self.actions))

    @property
    def reads(self) -> bool:
        """Whether the job reads rows; jobs with only maintenance or a change do not."""
        idle = bool(self.writes) and all(output.mode == "maintain" for output in self.writes)
        return self.change is None and not idle

    @property
    def reported(self) -> tuple[tuple[str, str], ...]:
        """Name and address of everything that the job reports at its end."""
        changed = ((self.change.name, self.change.dataset.address),) if self.change else ()
        return (*((output.name, output.dataset.address) for output in self.writes), *changed)

    @property
    def moves(self) -> bool:
        """Whether the job is incremental: it continues where the previous run ended."""
        return any(source.moves for source in self.inputs)


@dataclass(frozen=True)
class EnginePlan:
    """One engine process to start: a configured engine with the application settings of its jobs."""

    key: str
    """The engine's name, with a suffix if jobs of one engine cannot share a process."""
    engine: Engine
    conf: Mapping[str, str] = field(default_factory=dict)
    """Static Spark settings: the engine's, overridden by the jobs'."""
    envs: Mapping[str, str] = field(default_factory=dict)
    depots: tuple[Depot, ...] = ()
    """Every depot that the engine needs as a catalog or as a store."""
    metastore: str = ""
    """The URL of the metastore, which has the ledger."""
    settings: Settings = field(default_factory=Settings)
    """The project's settings."""
    directory: str | None = None
    """The project's root, in which the engine works; None for the directory of the command."""


@dataclass(frozen=True)
class SharedTable:
    """A dataset with several writers in one workflow, and the effect of that."""

    address: str
    jobs: tuple[str, ...]
    effect: str


@dataclass(frozen=True)
class Placement:
    """A job that runs on another engine than the default one because its depots need that, and why."""

    job: str
    engine: str
    """Name of the engine."""
    reason: str


@dataclass(frozen=True)
class Plan:
    workflow: str
    file: str
    jobs: tuple[JobPlan, ...]
    """In an order that respects dependencies."""
    engines: tuple[EnginePlan, ...]
    shared: tuple[SharedTable, ...] = ()
    placed: tuple[Placement, ...] = ()
    choices: Choices = field(default_factory=Choices)
    """What is run of the workflow, and with which values."""
    definition: Mapping[str, Any] = field(default_factory=dict)
    """What all jobs of the workflow do, also those that are left out; see `plan.definition`."""

"""The plan: plain, printable data. It is also what crosses into an engine, so nothing here knows YAML or Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from catchment.errors import Position
from catchment.project.model import Depot, Engine, Settings
from catchment.spec.model import ChangeName as ChangeName
from catchment.spec.model import Clause as Clause
from catchment.spec.model import Commits as Commits
from catchment.spec.model import CommitWay, Conflict, Operation, Retry, SaveMode, SourceLine, sql_position
from catchment.spec.model import Delete as Delete
from catchment.spec.model import Expire as Expire
from catchment.spec.model import Incremental as Incremental
from catchment.spec.model import Key as Key
from catchment.spec.model import LogLevel as LogLevel
from catchment.spec.model import Merge as Merge
from catchment.spec.model import PartitionField as PartitionField
from catchment.spec.model import RemoveOrphans as RemoveOrphans
from catchment.spec.model import Rewrite as Rewrite
from catchment.spec.model import RewriteManifests as RewriteManifests
from catchment.spec.model import Sort as Sort
from catchment.spec.sql_template import Template as Template

Maintenance = Rewrite | RewriteManifests | Expire | RemoveOrphans
"""What changes how a table is kept, and no row of it."""


@dataclass(frozen=True)
class Dataset:
    """A resolved address: a table of a catalog, a table at a path, or a path of files."""

    address: str
    """Canonical text, without acl."""
    depot: str
    format: str
    """A name that the registry of formats knows."""
    namespace: str | None = None
    """Tables only: the collection."""
    table: str | None = None
    path: str | None = None
    """Absolute path or URI of files, or of a table that is found by its path."""
    named: bool = False
    """The depot's catalog knows a table at a path by its name; the path is where a new one is made."""

    @property
    def is_table(self) -> bool:
        """Whether commits keep its readers and writers apart; plain files have none."""
        return self.table is not None

    @property
    def target(self) -> str:
        """What the ledger and the lease call it: a table by its address, files by their place, however addressed."""
        return self.path if self.path is not None and not self.is_table else self.address

    @property
    def identifier(self) -> str:
        """How Spark SQL names the table: `depot`.`collection`.`table`, or by its path."""
        if self.path is not None:
            return f"{self.format}.`{self.path}`"
        return ".".join(f"`{part}`" for part in (self.depot, self.namespace, self.table) if part)


@dataclass(frozen=True)
class InputPlan:
    name: str
    dataset: Dataset
    where: Position
    options: Mapping[str, str] = field(default_factory=dict)
    schema: str | None = None
    schema_type: Literal["avro", "spark"] = "spark"
    incremental: Incremental | None = None
    commits: Commits | None = None

    @property
    def moves(self) -> bool:
        """Whether what is read depends on what was read before."""
        return self.commits is not None or (self.incremental is not None and bool(self.incremental.state))


@dataclass(frozen=True)
class StepPlan:
    name: str
    sql: str
    where: Position
    sql_where: Position
    sql_lines: tuple[SourceLine, ...] = ()
    """Where each line of the SQL stands in its file; read with `position`."""

    def position(self, line: int, column: int) -> Position:
        """Where a place in the SQL stands in its file; counted as Spark counts, lines from 1 and columns from 0."""
        return sql_position(self.sql, self.sql_where, self.sql_lines, line, column)


@dataclass(frozen=True)
class OutputPlan:
    name: str
    source: str
    """The view that is written: a step's or an input's name."""
    dataset: Dataset
    where: Position
    mode: SaveMode = "overwrite"
    partitions: tuple[PartitionField, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    sort: Sort | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    compression: str | None = None
    merge_schema: bool = False
    merge: Merge | None = None
    """Given if and only if the mode is merge."""
    commit: CommitWay = "buffered"
    conflict: Conflict = "last-wins"
    comment: str | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class ActionPlan:
    """What a job does to the table of one of its inputs, as a write with an id like any other."""

    operation: Operation
    output: OutputPlan


@dataclass(frozen=True)
class ChangePlan:
    """What is done to a table beside writing rows into it."""

    name: ChangeName
    dataset: Dataset
    arguments: Mapping[str, Any]
    published: str | None = None
    """The published catalog of the table's depot, where it has one."""
    where: Position | None = None
    """Where a workflow asks for it."""


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
    actions: tuple[ActionPlan, ...] = ()
    change: ChangePlan | None = None
    """Of a job of the toolbox, which has nothing else."""
    conf: Mapping[str, str] = field(default_factory=dict)
    """Settings of the job's own session (what Spark can change at run time)."""
    log_level: LogLevel = "INFO"
    explain: bool = False
    preview_rows: int = 0
    retry: Retry = field(default_factory=Retry)

    @property
    def writes(self) -> tuple[OutputPlan, ...]:
        """Everything the job writes, in order: its outputs, then what its actions change."""
        return (*self.outputs, *(action.output for action in self.actions))

    @property
    def reads(self) -> bool:
        """Whether it reads rows of its inputs; maintenance and changes of tables alone do not."""
        idle = bool(self.writes) and all(output.mode == "maintain" for output in self.writes)
        return self.change is None and not idle

    @property
    def reported(self) -> tuple[tuple[str, str], ...]:
        """Name and address of everything that the job reports when it is done."""
        changed = ((self.change.name, self.change.dataset.address),) if self.change else ()
        return (*((output.name, output.dataset.address) for output in self.writes), *changed)

    @property
    def moves(self) -> bool:
        """Whether it goes on from where the run before it ended."""
        return any(source.moves for source in self.inputs)


@dataclass(frozen=True)
class EnginePlan:
    """One engine process to start: a configured engine plus what its jobs ask of the whole application."""

    key: str
    """The engine's name; with a suffix where jobs of one engine cannot share a process."""
    engine: Engine
    conf: Mapping[str, str] = field(default_factory=dict)
    """Static Spark settings: the engine's, then the jobs'."""
    envs: Mapping[str, str] = field(default_factory=dict)
    depots: tuple[Depot, ...] = ()
    """Every depot the engine must know as a catalog or reach as a store."""
    metastore: str = ""
    """Where the engine keeps the ledger of its writes."""
    settings: Settings = field(default_factory=Settings)
    """The project's."""


@dataclass(frozen=True)
class SharedTable:
    """A dataset with several writers in one workflow, and what will happen."""

    address: str
    jobs: tuple[str, ...]
    effect: str


@dataclass(frozen=True)
class Plan:
    workflow: str
    file: str
    jobs: tuple[JobPlan, ...]
    """In an order that respects dependencies."""
    engines: tuple[EnginePlan, ...]
    shared: tuple[SharedTable, ...] = ()

"""The model of a project: depots, engines, settings and addresses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from catchment.errors import Diagnostic, Position
from catchment.spec.variable_value import Value

EMBEDDED = "embedded"
"""The kind of depots without configuration: tables and plain files under `.catchment/`."""
Isolation = Literal["shared", "process"]


@dataclass(frozen=True)
class Catalog:
    type: str = "jdbc"
    uri: str | None = None
    database: str | None = None
    """Absolute path of the SQLite file of a jdbc catalog without a uri."""
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Depot:
    name: str
    kind: str
    """A format, or `embedded`."""
    location: str
    """An absolute path, a URI or servers; for a rest or hive catalog the warehouse as written, or empty."""
    catalog: Catalog | None = None
    """The catalog of its tables, if it has one."""
    conf: Mapping[str, str] = field(default_factory=dict)
    """Spark and Hadoop settings that reach the store, added to the engine's; for servers, connection settings."""
    where: Position | None = None
    publish: str | None = None
    """The published catalog: a second one in the same database, whose readers see only published versions."""

    @property
    def warehouse(self) -> str:
        """Where the catalog stores its tables."""
        return f"{self.location}/tables" if self.kind == EMBEDDED else self.location

    @property
    def files(self) -> str:
        """Where plain files are, and tables that are found by path."""
        return f"{self.location}/files" if self.kind == EMBEDDED else self.location


@dataclass(frozen=True)
class Engine:
    name: str
    spark: str = "4.1"
    master: str = "local[*]"
    isolation: Isolation = "shared"
    conf: Mapping[str, str] = field(default_factory=dict)
    packages: tuple[str, ...] = ()
    """Maven coordinates in addition to those that the depots need."""
    spark_home: str | None = None
    """A Spark installation on this machine, of the line `spark`."""
    where: Position | None = None

    @property
    def is_local(self) -> bool:
        """Whether tasks run inside the driver, on this machine."""
        return self.master.startswith("local")


@dataclass(frozen=True)
class Settings:
    """Settings of the whole project."""

    max_pending: int = 1000
    """Sealed writes of one table that may wait to be published; beyond it, writers wait before they write."""
    keep_days: int = 90
    """How many days the metastore keeps finished writes, windows and events."""
    linger: float = 0.0
    """How many seconds a sealed write waits for other writes of its run to the same table, to share their commit."""
    pass_environment: tuple[str, ...] = ()
    """Environment variables that engines get beyond those that they need; a trailing `*` matches any suffix."""


@dataclass(frozen=True)
class Thresholds:
    """When a partition of a table is worth a compaction: as soon as one of these is reached."""

    small_files: int = 5
    small_file_bytes: int | None = None
    """Smaller files count as small; None for an eighth of the table's target file size."""
    delete_files: int = 5
    """Files of deletes, or data files with deleted rows."""
    level0_files: int = 5
    """Files that readers have to merge by key."""
    age: float = 3600.0
    """Seconds after which a partition with anything to merge is compacted even below the other thresholds."""
    quiet: float = 60.0
    """Seconds since the last write before a partition is compacted, unless it is far above the other thresholds."""
    small_file_where: Position | None = field(default=None, compare=False)
    """Where the project file says what counts as small."""


@dataclass(frozen=True)
class Upkeep:
    """How the tables of a depot, or one table, are maintained."""

    thresholds: Thresholds = Thresholds()
    retention: float | None = None
    """Snapshots older than this many seconds are expired; None expires only those of tables whose writers never do."""


Residency = Literal["auto", "always", "never"]
HookEvent = Literal["run-failed", "run-late", "service-dead"]


@dataclass(frozen=True)
class Hook:
    """A command or a webhook that is notified of events."""

    name: str
    webhook: str | None = None
    """The URL; a secret."""
    command: tuple[str, ...] = ()
    """Given if and only if there is no webhook."""
    on: tuple[HookEvent, ...] = ("run-failed", "service-dead")
    """The events that the hook is notified of by default."""
    late_after: float | None = None
    """Seconds after it was due, or began, when an unfinished run is late; given if and only if `on` has run-late."""


@dataclass(frozen=True)
class Project:
    root: Path
    """The directory that relative paths start from and that holds `.catchment/`."""
    file: Path | None
    """None if there is no `catchment.yaml`."""
    metastore: str
    """sqlite:///ABSOLUTE-PATH or postgresql://…; may hold a password."""
    depots: Mapping[str, Depot]
    engines: Mapping[str, Engine]
    """Always has `default`."""
    secrets: tuple[str, ...] = ()
    """The values of `${secret:NAME}` and `${file:PATH}` in the project file and in the workflow; masked everywhere."""
    warnings: tuple[Diagnostic, ...] = ()
    """Warnings about the project file."""
    settings: Settings = Settings()
    include_paths: tuple[Path, ...] = ()
    """Directories outside the root from which workflows may include files."""
    maintain: Mapping[str, Upkeep] = field(default_factory=dict)
    """Upkeep by the name of a depot or the address of a table; that of a table includes what its depot says."""
    notify: tuple[Hook, ...] = ()
    """The hooks that are notified of events."""
    environment: str | None = None
    """The environment that was chosen."""
    environments: tuple[str, ...] = ()
    """All environments of the project file."""
    variables: Mapping[str, Value] = field(default_factory=dict)
    """The variables of the project file, with their values in this environment."""
    shared_depots: frozenset[str] = frozenset()
    """Depots that are the same inside and outside the environment."""
    resident: Residency = "auto"
    """Whether commands leave their engines behind for the next command: always, never, or (auto) on a terminal."""
    attended: bool = False
    """Whether a person waits for the command at a terminal."""

    @property
    def home(self) -> Path:
        """The directory of Catchment's own files; an environment has one of its own."""
        return home_in(self.root, self.environment)


def home_in(root: Path, environment: str | None) -> Path:
    """The directory of Catchment's own files, of a project or of one of its environments."""
    whole = root / ".catchment"
    return whole / "environments" / environment if environment else whole


@dataclass(frozen=True)
class Address:
    """The parts of `dataos://depot:collection/dataset?acl=rw`."""

    depot: str
    collection: str | None
    """None if the address has `none`."""
    dataset: str | None
    """None if the address ends with the collection."""
    acl: Literal["r", "rw"] | None

    def __str__(self) -> str:
        tail = f"/{self.dataset}" if self.dataset else ""
        return f"dataos://{self.depot}:{self.collection or 'none'}{tail}"

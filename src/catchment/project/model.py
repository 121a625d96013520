"""What `catchment.yaml` says, and what addresses mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from catchment.errors import Diagnostic, Position

EMBEDDED = "embedded"
"""The kind of depots that nobody configured: tables and plain files, side by side under `.catchment/`."""
Isolation = Literal["shared", "process"]


@dataclass(frozen=True)
class Catalog:
    type: str = "jdbc"
    uri: str | None = None
    database: str | None = None
    """Absolute path of the SQLite file of a jdbc catalog that nobody gave a uri."""
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Depot:
    name: str
    kind: str
    """The format that it holds, or `embedded`."""
    location: str
    """An absolute path or a URI; of a rest or hive catalog the warehouse as written, empty where none is given."""
    catalog: Catalog | None = None
    """Set for every depot whose tables a catalog knows."""
    conf: Mapping[str, str] = field(default_factory=dict)
    """Spark and Hadoop settings needed to reach the store; part of the engine's settings."""
    where: Position | None = None
    publish: str | None = None
    """A second catalog in the catalog's database, whose readers see published versions of the tables alone."""

    @property
    def warehouse(self) -> str:
        """Where the catalog puts its tables."""
        return f"{self.location}/tables" if self.kind == EMBEDDED else self.location

    @property
    def files(self) -> str:
        """Where plain files live, and tables that are found by their path."""
        return f"{self.location}/files" if self.kind == EMBEDDED else self.location


@dataclass(frozen=True)
class Engine:
    name: str
    spark: str = "4.1"
    master: str = "local[*]"
    isolation: Isolation = "shared"
    conf: Mapping[str, str] = field(default_factory=dict)
    packages: tuple[str, ...] = ()
    """Maven coordinates beyond those that the depots need."""
    spark_home: str | None = None
    where: Position | None = None


@dataclass(frozen=True)
class Settings:
    """What holds for the whole project."""

    max_pending: int = 1000
    """Sealed writes of one table that may wait to be published; beyond it, writers wait before they write."""


@dataclass(frozen=True)
class Project:
    root: Path
    """The directory that relative paths start from and that holds `.catchment/`."""
    file: Path | None
    """None where no `catchment.yaml` was found."""
    metastore: str
    """sqlite:///ABSOLUTE-PATH or postgresql://…; may hold a password."""
    depots: Mapping[str, Depot]
    engines: Mapping[str, Engine]
    """Always has `default`."""
    secrets: tuple[str, ...] = ()
    """Every value that came from the environment or a file: redacted everywhere."""
    warnings: tuple[Diagnostic, ...] = ()
    """What the project file says that is allowed and unwise."""
    settings: Settings = Settings()

    @property
    def home(self) -> Path:
        """Where Catchment keeps its own things."""
        return self.root / ".catchment"


@dataclass(frozen=True)
class Address:
    """`dataos://depot:collection/dataset?acl=rw`, taken apart."""

    depot: str
    collection: str | None
    """None for the dialect's `none`."""
    dataset: str | None
    """None where the address stops at the collection."""
    acl: Literal["r", "rw"] | None

    def __str__(self) -> str:
        tail = f"/{self.dataset}" if self.dataset else ""
        return f"dataos://{self.depot}:{self.collection or 'none'}{tail}"

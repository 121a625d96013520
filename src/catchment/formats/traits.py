"""What a format can do and needs, as data that project, spec, plan and engine ask. Nothing here touches Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from catchment.errors import CatchmentError

if TYPE_CHECKING:  # plain data, and project asks this module
    from catchment.project.model import Depot

IDENTITY = frozenset({"identity"})
EVERY_TRANSFORM = frozenset({"identity", "year", "month", "day", "hour", "bucket", "truncate"})
SAVE_MODES = frozenset({"append", "overwrite", "overwrite-partitions"})


@dataclass(frozen=True)
class Package:
    """One Maven coordinate `group:artifact:version`, and which of its dependencies (`group:artifact`) stay away."""

    coordinate: str
    without: tuple[str, ...] = ()
    alone: bool = False
    """Take this jar and none of its dependencies."""
    classifier: str = ""
    """Take the artifact's variant of this name, such as `jar-with-dependencies`."""

    @property
    def parts(self) -> tuple[str, str, str]:
        group, artifact, version = self.coordinate.split(":")
        return group, artifact, version


@dataclass(frozen=True)
class CatalogTraits:
    """One type of catalog that can keep a format's tables."""

    uri: tuple[str, ...] = ()
    """How its uri may begin; empty where it has none."""
    needs_uri: bool = False
    location: Literal["required", "optional", "name"] = "required"
    """Whether the depot must say where its tables are; `name`: a word between the catalog and us, not a path."""
    loses_commits: bool = False
    """Two processes that write one table at the same time lose commits: writers must come one after the other."""


@dataclass(frozen=True)
class Rule:
    """What it means that one of these Java classes is among the causes of an exception."""

    classes: frozenset[str]
    error: type[CatchmentError]
    code: str | None
    message: str
    """What is said before the cause's own words; nothing where those say it all."""
    hint: str


Settings = Mapping[str, str]


def no_settings(depots: Sequence[Depot], spark: str, *, local: bool) -> Settings:
    """A format that needs no settings of Spark."""
    return {}


@dataclass(frozen=True)
class Traits:
    """One format."""

    name: str
    """Of its folder, and the kind of its depots."""
    formats: tuple[str, ...]
    """What `format` of a dataset may say; the first one is meant where nothing is said."""
    is_table: bool
    """Commits keep readers and writers apart; plain files have none."""

    # Depots
    catalogs: Mapping[str, CatalogTraits] = field(default_factory=dict)
    """Types of catalogs that can keep its tables; the first one is meant where nothing is said."""
    catalog_required: bool = False
    one_catalog: bool = False
    """Spark has a single catalog for it: all depots of a project must share it."""
    publishes_with: frozenset[str] = frozenset()
    """Types of catalogs whose tables can be published in a second catalog."""
    embedded: bool = False
    """Whether a depot that nobody configured holds it."""
    by_path: bool = False
    """Its tables lie at `collection/table` of the depot; a catalog may know their names."""
    forbidden_in_names: str = ""
    """Characters that its catalogs do not take in names."""
    reserved_depots: frozenset[str] = frozenset()
    """Names of catalogs that it has of its own."""
    suffixes: Mapping[str, str] = field(default_factory=dict)
    """Formats by the ending of a dataset's name."""

    # Reads and writes
    save_modes: frozenset[str] = SAVE_MODES
    transforms: frozenset[str] = IDENTITY
    """How partitions may be computed from columns."""
    merge: bool = False
    conflict: bool = False
    """An overwrite can find out that others changed what it replaces (`conflict: fail | rerun`)."""
    direct: bool = False
    """A write may go past the buffer (`commit: direct`)."""
    buffered: bool = True
    """Rows are computed into a buffer and committed later, so that several can be computed at once."""
    branches: bool = False
    evolving: frozenset[str] = frozenset()
    """Formats whose datasets can grow by columns."""
    history: bool = False
    """Its commits can be read one after the other (`by: snapshot`), and earlier states be read."""
    time_travel: frozenset[str] = frozenset()
    """Options of an input that name a moment of the history."""

    # Beside reading and writing
    operations: frozenset[str] = frozenset()
    """Actions on its tables, by their names."""
    rewrite_options: frozenset[str] = frozenset()
    """Properties that a rewrite of its files takes."""
    changes: frozenset[str] = frozenset()
    """Changes of its tables, by their names."""
    questions: frozenset[str] = frozenset()
    """What can be asked of its tables."""

    # Spark
    packages: Mapping[str, tuple[Package, ...]] = field(default_factory=dict)
    """By line of Spark."""
    always_installed: bool = False
    """Its jars are on the class path of every engine, so that nearly all engines of a machine share one set."""
    extension: str | None = None
    """Its extension of Spark SQL."""
    settings: Callable[..., Settings] = no_settings
    """Settings of Spark for depots of this format: of (depots, line of Spark, whether everything runs here)."""
    rules: tuple[Rule, ...] = ()
    """What its exceptions mean."""
    unavailable: frozenset[str] = frozenset()
    """Exceptions that mean: a store or catalog did not answer."""
    refused: frozenset[str] = frozenset()
    """Exceptions that mean: access was refused."""
    conditions: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Code and hint by Spark's error condition."""

    @property
    def default_catalog(self) -> str | None:
        return next(iter(self.catalogs), None)

"""What a format supports and needs, as plain data for project, spec, plan and engine. No Spark here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from catchment.errors import CatchmentError

if TYPE_CHECKING:  # project itself imports this module
    from catchment.project.model import Depot

READ_ANEW = (
    "give the job another `checkpointLocation`, with which it reads everything again; first empty its outputs, or let "
    "them merge"
)
"""The hint for a stream that cannot go on from its checkpoint."""

IDENTITY = frozenset({"identity"})
EVERY_TRANSFORM = frozenset({"identity", "year", "month", "day", "hour", "bucket", "truncate"})


@dataclass(frozen=True)
class Package:
    """A Maven coordinate `group:artifact:version`, and the dependencies (`group:artifact`) to exclude."""

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
    """The allowed prefixes of its uri; empty if it has none."""
    needs_uri: bool = False
    location: Literal["required", "optional", "name"] = "required"
    """Whether the depot needs a `location`; `name`: it is a name that the catalog knows, not a path."""
    loses_commits: bool = False
    """Two processes that write one table at the same time lose commits, so only one may write at a time."""
    keeps_depots_apart: bool = False
    """Depots of different names that use the same catalog have different tables in it."""


@dataclass(frozen=True)
class Rule:
    """The error to raise if one of these Java classes is among the causes of an exception."""

    classes: frozenset[str]
    error: type[CatchmentError]
    code: str | None
    message: str
    """Put before the message of the cause; empty if that message is enough."""
    hint: str
    thrown_by: str = ""
    """The class that throws the exception, if the exception's own class is too general; its whole message is shown."""


@dataclass(frozen=True)
class Fault:
    """A Java exception, identified by its class and the class that throws it."""

    kind: str
    thrown_by: str


Settings = Mapping[str, str]


@dataclass(frozen=True)
class TableShape:
    """What a workflow declares about a table."""

    keys: tuple[str, ...]
    partitions: tuple[str, ...]
    properties: Mapping[str, str]
    mode: str = "append"
    """How the workflow writes it."""


Problem = tuple[str, str, str]
"""Code, message and hint."""


def problem(code: str, message: str, hint: str) -> Problem:
    """A problem with a declaration or a setting."""
    return code, message, hint


def any_shape(shape: TableShape) -> Sequence[Problem]:
    """The check of a format that accepts every declaration."""
    return ()


def any_conf(conf: Mapping[str, str]) -> Iterable[tuple[str, Problem]]:
    """The check of a format whose depots accept every setting."""
    return ()


def any_depot(depot: Depot) -> Iterable[Problem]:
    """The check of a format whose depots all keep their writers apart."""
    return ()


def any_catalog(depot: Depot) -> Iterable[tuple[str, Problem]]:
    """The check of a format whose catalogs accept every property."""
    return ()


def any_options(options: Mapping[str, str], *, stream: bool) -> Iterable[tuple[str, Problem]]:
    """The check of a format whose reader reports bad values itself."""
    return ()


def no_settings(depots: Sequence[Depot], spark: str, *, local: bool) -> Settings:
    """The settings of a format that needs none."""
    return {}


def no_write_options(format: str, mode: str, commit: str) -> frozenset[str]:
    """The writer options of a format that has none."""
    return frozenset()


def no_read_options(format: str, spark: str, given: Collection[str]) -> frozenset[str]:
    """The reader options of a format that has none."""
    return frozenset()


def no_stream_options(format: str, spark: str) -> frozenset[str]:
    """The stream options of a format that has none."""
    return frozenset()


@dataclass(frozen=True)
class Traits:
    """One format."""

    name: str
    """The name of its folder and of its kind of depot."""
    formats: tuple[str, ...]
    """The values of `format` of a dataset; the first one is the default."""
    is_table: bool
    """Whether it has commits, which isolate readers from writers; plain files have none."""

    # Depots
    catalogs: Mapping[str, CatalogTraits] = field(default_factory=dict)
    """Types of catalogs that can keep its tables; the first one is the default."""
    catalog_required: bool = False
    one_catalog: bool = False
    """Spark has only one catalog for it, which all depots of a project must share."""
    publishes_with: frozenset[str] = frozenset()
    """Types of catalogs whose tables can be published in a second catalog."""
    embedded: bool = False
    """Whether embedded depots, which need no configuration, hold it."""
    by_path: bool = False
    """Its tables are at the path `collection/table` of the depot, with or without a catalog."""
    servers: bool = False
    """Its depots are servers: `location` lists them, `conf` is for connections to them, and datasets have no path."""
    check_conf: Callable[[Mapping[str, str]], Iterable[tuple[str, Problem]]] = any_conf
    """Reports problems with a depot's `conf`, each with the name of the setting."""
    check_catalog: Callable[[Depot], Iterable[tuple[str, Problem]]] = any_catalog
    """Reports problems with the properties of a depot's catalog, each with the name of the property."""
    check_guard: Callable[[Depot], Iterable[Problem]] = any_depot
    """Reports warnings for a depot that cannot keep all of its writers apart."""
    by_warehouse: bool = False
    """Its tables may be named by warehouse, database and table, as its own compaction job names them."""
    forbidden_in_names: str = ""
    """Characters that its catalogs do not allow in names."""
    reserved_depots: frozenset[str] = frozenset()
    """Names that it uses for catalogs of its own."""
    suffixes: Mapping[str, str] = field(default_factory=dict)
    """Formats by the suffix of a dataset's name."""

    # Reads and writes
    writable: bool = True
    """Whether outputs can write it."""
    transforms: frozenset[str] = IDENTITY
    """The partition transforms that it supports."""
    merge: bool = False
    conflict: bool = False
    """An overwrite can detect that others changed what it replaces (`conflict: fail | rerun`)."""
    direct: bool = False
    """A write may bypass the buffer (`commit: direct`)."""
    buffered: bool = True
    """Rows are written to a buffer and committed later, so that several writes can be computed at once."""
    groups: frozenset[str] = frozenset()
    """Save modes whose sealed writes to one table share a commit, so that waiting for more is worthwhile (`linger`)."""
    read_options: Callable[[str, str, Collection[str]], frozenset[str]] = no_read_options
    """The options of an input that have an effect, from (format, line of Spark, names that are given).

    `*` stands for any characters. Every other option is refused, because Spark would ignore it. Names are
    case-insensitive, except those with a dot.
    """
    check_read_options: Callable[..., Iterable[tuple[str, Problem]]] = any_options
    """Reports problems with the values of an input's options, each with its name, from (options, stream or not)."""
    write_options: Callable[[str, str, str], frozenset[str]] = no_write_options
    """The names in `extraOptions` that have an effect, from (format, mode, commit), in the form of `read_options`."""
    primary_keys: bool = False
    """Its tables may have a primary key (`primaryKey`): rows with the same key become one."""
    check_shape: Callable[[TableShape], Iterable[Problem]] = any_shape
    """Reports problems in the declaration of a table."""
    check_sharing: Callable[[TableShape], Iterable[Problem]] = any_shape
    """Reports warnings for a table that several jobs write at the same time."""
    branches: bool = False
    needs_schema: frozenset[str] = frozenset()
    """Formats that have no schema of their own, so that an input must declare one."""
    bad_rows: frozenset[str] = frozenset()
    """Formats whose records are parsed from text, so that some of them may be bad (`badRows`)."""
    evolving: frozenset[str] = frozenset()
    """Formats whose datasets can get new columns."""
    history: bool = False
    """Its commits can be read one after the other (`by: snapshot`), and earlier versions can be read."""
    time_travel: frozenset[str] = frozenset()
    """Options of an input that choose which part of the history is read."""
    streams: bool = False
    """Whether an input can be read as a stream."""
    streams_by_default: bool = False
    """Whether an input is a stream unless it says `isStream: false`."""
    stream_options: Callable[[str, str], frozenset[str]] = no_stream_options
    """The options of an input that is a stream, from (format, line of Spark), in the form of `read_options`."""

    passing_faults: tuple[Fault, ...] = ()
    """Exceptions that end a Spark stream although its batch is complete; the stream is started again."""

    # Maintenance, metadata changes, inspection
    operations: frozenset[str] = frozenset()
    """The names of the actions that its tables support."""
    maintained: frozenset[str] = frozenset()
    """The formats that these actions work on; empty if they work on all of them."""
    rewrite_options: frozenset[str] = frozenset()
    """The properties that a rewrite of its files accepts."""
    changes: frozenset[str] = frozenset()
    """The names of the metadata changes that its tables support."""
    drops: bool = False
    """Its tables can be dropped."""
    questions: frozenset[str] = frozenset()
    """The inspection questions that its tables answer."""

    # Spark
    packages: Mapping[str, tuple[Package, ...]] = field(default_factory=dict)
    """By line of Spark. A format with packages runs only on the lines that are listed here."""
    always_installed: bool = False
    """Its jars are on the class path of every engine, so that nearly all engines of a machine share one set."""
    extension: str | None = None
    """Its extension of Spark SQL."""
    settings: Callable[..., Settings] = no_settings
    """Spark's settings for depots of this format, from (depots, line of Spark, local master or not)."""
    rules: tuple[Rule, ...] = ()
    """The errors for its exceptions."""
    unavailable: frozenset[str] = frozenset()
    """Exceptions that mean that a store or catalog did not answer."""
    refused: frozenset[str] = frozenset()
    """Exceptions that mean that access was refused."""
    conditions: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Code and hint by Spark's error condition."""

    def runs_on(self, line: str) -> bool:
        """Whether engines of a line of Spark can read and write it; a format without packages runs on every line."""
        return not self.packages or line in self.packages

    def supports(self, operation: str, format: str) -> bool:
        """Whether an action works on datasets of one of its formats."""
        return operation in self.operations and (not self.maintained or format in self.maintained)

    @property
    def default_catalog(self) -> str | None:
        return next(iter(self.catalogs), None)

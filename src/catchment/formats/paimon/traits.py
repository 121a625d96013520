"""The traits of Paimon tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from catchment.errors import JobError
from catchment.formats.paimon.read_options import TIME_TRAVEL, check_values, read_options, stream_options
from catchment.formats.traits import READ_ANEW, CatalogTraits, Package, Problem, Rule, TableShape, Traits, problem

if TYPE_CHECKING:
    from catchment.project.model import Depot

MERGE_ENGINE, AGGREGATION = "merge-engine", "aggregation"
DEDUPLICATE = "deduplicate"
"""The merge engine that keeps the newest row of each key; it is the default."""
ENGINES = (DEDUPLICATE, "partial-update", AGGREGATION, "first-row")
DYNAMIC = "-1"
"""The value of `bucket` of a table that chooses the number of its buckets itself."""
FUNCTION, DEFAULT_FUNCTION = "fields.{}.aggregate-function", "fields.default-aggregate-function"
CONNECT_SECONDS = 30
ANSWER_SECONDS = 120
"""How long a Hive metastore may take to answer. By default, its client would wait for ten minutes."""
_SQLITE = {"jdbc.journal_mode": "WAL", "jdbc.busy_timeout": "60000"}
"""With these, readers do not block the writer, and writers wait for each other instead of failing."""
_POSTGRESQL = {
    "jdbc.connectTimeout": str(CONNECT_SECONDS),
    "jdbc.socketTimeout": str(ANSWER_SECONDS),
    "jdbc.tcpKeepAlive": "true",
}
CAN_LOCK = ("jdbc:sqlite:", "jdbc:mysql:", "thrift://")
"""Catalogs in which Paimon can lock a table; it has no lock for PostgreSQL."""
WITH_LOCK = (
    "a `catalog` of type hive, or jdbc on MySQL (with its driver in the `packages` of the engine) or, on one machine, "
    "on SQLite"
)
LOCK_ENABLED, LOCK_TYPE = "lock.enabled", "lock.type"


def settings(depots: Sequence[Depot], spark: str, *, local: bool) -> dict[str, str]:
    """The settings of the depots' catalogs."""
    return {key: value for depot in depots for key, value in _catalog(depot)}


def _catalog(depot: Depot) -> Iterator[tuple[str, str]]:
    if depot.catalog is None:
        return
    prefix, uri = f"spark.sql.catalog.{depot.name}", _uri(depot)
    properties = {
        "metastore": depot.catalog.type,
        "uri": uri,
        "warehouse": depot.warehouse,
        # A cached table is stale as soon as another engine has changed it.
        "cache-enabled": "false",
        LOCK_ENABLED: str(_locks(depot, uri)).lower(),
        **_of_type(depot),
        **depot.catalog.properties,
    }
    yield prefix, "org.apache.paimon.spark.SparkCatalog"
    yield from ((f"{prefix}.{key}", value) for key, value in properties.items() if value)


def _uri(depot: Depot) -> str:
    if depot.catalog is None:
        return ""
    return depot.catalog.uri or (f"jdbc:sqlite:{depot.catalog.database}" if depot.catalog.database else "")


def _locks(depot: Depot, uri: str) -> bool:
    """Whether commits take a lock in the catalog: if the store has no atomic rename, and the catalog has a lock."""
    return accepts_second_snapshot(depot.warehouse) and uri.startswith(CAN_LOCK)


def accepts_second_snapshot(location: str) -> bool:
    """Whether a store accepts a name that is taken: HDFS does not, nor do local disks by the link in `Commits.java`."""
    return "://" in location and not location.startswith(("file:", "hdfs:"))


def check_catalog(depot: Depot) -> Iterator[tuple[str, Problem]]:
    """Report a lock that is asked for and that the catalog does not have; Paimon would go on without it, or fail."""
    if depot.catalog is None or LOCK_TYPE in depot.catalog.properties:
        return
    if depot.catalog.properties.get(LOCK_ENABLED, "").lower() == "true" and not _uri(depot).startswith(CAN_LOCK):
        message = f"the catalog of `{depot.name}` has no lock that could be enabled"
        yield LOCK_ENABLED, problem("lock-unsupported", message, f"use {WITH_LOCK}, or remove `{LOCK_ENABLED}`")


def check_guard(depot: Depot) -> Iterator[Problem]:
    """Warn of a depot in which only the lease keeps two commits apart."""
    if depot.catalog is None or not accepts_second_snapshot(depot.warehouse):
        return
    given = depot.catalog.properties
    if given.get(LOCK_ENABLED, "true").lower() == "true" and (LOCK_TYPE in given or _uri(depot).startswith(CAN_LOCK)):
        return
    message = (
        f"`{depot.name}` has no lock, and its store does not refuse a second commit: its tables are safe only while "
        "all writers are Catchment's, with one metastore; commits of other programs may be lost, or replace ours"
    )
    yield problem("unguarded-depot", message, f"to get a lock, use {WITH_LOCK}; otherwise let nothing else write there")


def _of_type(depot: Depot) -> Mapping[str, str]:
    if depot.catalog is not None and depot.catalog.type == "jdbc":
        return {"catalog-key": depot.name, **_of_database(_uri(depot))}
    if depot.catalog is not None and depot.catalog.type == "hive":
        return {"hadoop.hive.metastore.client.socket.timeout": f"{ANSWER_SECONDS}s"}
    return {}


def _of_database(uri: str) -> Mapping[str, str]:
    if uri.startswith("jdbc:sqlite:"):
        return _SQLITE
    return _POSTGRESQL if uri.startswith("jdbc:postgresql:") else {}


def check_shape(shape: TableShape) -> Iterator[Problem]:
    """Report problems in the declaration of a table."""
    engine = shape.properties.get(MERGE_ENGINE)
    if engine is not None and engine not in ENGINES:
        yield problem("bad-value", f"there is no merge engine `{engine}`", f"use one of {', '.join(ENGINES)}")
    if engine is not None and not shape.keys:
        message = f"the merge engine `{engine}` merges rows of one key, and the table has no `primaryKey`"
        yield problem("primary-key-missing", message, "add `primaryKey: [column]`, or remove the merge engine")
    yield from _check_buckets(shape, shape.properties.get("bucket", DYNAMIC))


def _check_buckets(shape: TableShape, buckets: str) -> Iterator[Problem]:
    if buckets != DYNAMIC and not (buckets.isdigit() and int(buckets)):
        message = f"`bucket: {buckets}` is no number of buckets"
        yield problem("bad-value", message, "use a number from 1 on, or -1 for dynamic buckets")
        return
    if buckets != DYNAMIC and not shape.keys and "bucket-key" not in shape.properties:
        message = f"`bucket: {buckets}` needs a `bucket-key`, because the table has no `primaryKey`"
        hint = "add `bucket-key: column` to the properties, or leave `bucket` out"
        yield problem("bucket-key-missing", message, hint)
    outside = [name for name in shape.partitions if name.lower() not in {key.lower() for key in shape.keys}]
    if shape.keys and outside and buckets != DYNAMIC:
        message = f"the primary key lacks {', '.join(outside)}, which the table is partitioned by"
        hint = "add the column to `primaryKey`, or leave `bucket` out: Paimon then moves keys between partitions"
        yield problem("primary-key-lacks-partition", message, hint)
    if shape.keys and outside and buckets == DYNAMIC:
        engine = shape.properties.get(MERGE_ENGINE, DEDUPLICATE)
        yield from check_overwrite(shape.mode, engine)


def check_overwrite(mode: str, engine: str | None) -> Iterator[Problem]:
    """Report an overwrite of a table whose keys may move between partitions, if it would replace other rows.

    For each key that the table has in another partition, Paimon writes to that partition too: a row that deletes it,
    or, with other merge engines, the new row itself. A dynamic overwrite would replace that whole partition.
    """
    if mode == "overwrite-partitions" or (mode == "overwrite" and engine != DEDUPLICATE):
        what = "its partitions cannot be replaced" if mode == "overwrite-partitions" else "it cannot be overwritten"
        message = f"{what}: the primary key lacks a column that the table is partitioned by"
        hint = "add the column to `primaryKey`; or append, which replaces the rows of each key"
        yield problem("overwrite-unsupported", message, hint)


def check_sharing(shape: TableShape) -> Iterator[Problem]:
    """Report warnings for a table that several jobs write at the same time."""
    if shape.keys and shape.properties.get("bucket", DYNAMIC) == DYNAMIC:
        message = "keys in dynamic buckets bear one writer at a time, so the writes take turns"
        yield problem("writers-take-turns", message, "give the table a fixed number of buckets: `bucket: 4`")
    latest = shape.properties.get(MERGE_ENGINE, DEDUPLICATE) == DEDUPLICATE
    if shape.keys and latest and "sequence.field" not in shape.properties:
        message = "if two of them bring the same key, it is not defined which row stays"
        yield problem(
            "no-sequence-field", message, "let `sequence.field` name the column that tells which row is newer"
        )


_STREAM = "catchment.paimon.SnapshotStream"

TRAITS = Traits(
    name="paimon",
    formats=("paimon",),
    is_table=True,
    catalogs={
        "filesystem": CatalogTraits(),
        "jdbc": CatalogTraits(uri=("jdbc:",), keeps_depots_apart=True),
        "hive": CatalogTraits(uri=("thrift://",), needs_uri=True),
    },
    catalog_required=True,
    check_catalog=check_catalog,
    check_guard=check_guard,
    merge=True,
    by_warehouse=True,
    conflict=True,
    groups=frozenset({"append", "overwrite"}),
    primary_keys=True,
    check_shape=check_shape,
    read_options=read_options,
    check_read_options=check_values,
    check_sharing=check_sharing,
    evolving=frozenset({"paimon"}),
    history=True,
    time_travel=TIME_TRAVEL,
    streams=True,
    stream_options=stream_options,
    operations=frozenset({"delete_from_dataset", "rewrite_dataset", "expire_snapshots"}),
    changes=frozenset({"rollback", "tag_create", "tag_delete"}),
    drops=True,
    questions=frozenset({"table", "snapshots", "files"}),
    # Without dependencies: the jar has its own, and Spark has the others.
    packages={"3.5": (Package("org.apache.paimon:paimon-spark-3.5:0.9.0", alone=True),)},
    extension="org.apache.paimon.spark.extensions.PaimonSparkSessionExtensions",
    settings=settings,
    rules=(
        Rule(
            frozenset({"java.lang.RuntimeException"}),
            JobError,
            "null-in-required-column",
            "",
            "columns of a primary key are never null: filter such rows, or give them a value with coalesce()",
            thrown_by="org.apache.paimon.table.sink.TableWriteImpl",
        ),
        Rule(
            frozenset({"java.lang.RuntimeException"}),
            JobError,
            "merge-cardinality",
            "",
            "let the rows have at most one for each row of the table: group them, or select the newest",
            thrown_by="org.apache.paimon.spark.commands.MergeIntoPaimonTable",
        ),
        Rule(frozenset({f"{_STREAM}$Gone"}), JobError, "source-history-gone", "", READ_ANEW),
        Rule(frozenset({f"{_STREAM}$Overwritten"}), JobError, "source-overwritten", "", READ_ANEW),
    ),
)

"""The traits of Iceberg tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from catchment.errors import CommitConflict, JobError, Retryable
from catchment.formats.traits import EVERY_TRANSFORM, READ_ANEW, CatalogTraits, Package, Rule, Traits

if TYPE_CHECKING:
    from catchment.project.model import Depot

EXCEPTIONS = "org.apache.iceberg.exceptions."
FILE_MISSING = f"{EXCEPTIONS}NotFoundException"
FORKS = "catchment_forks"
"""The Spark catalog in which forks of tables are found by name."""
SQLITE_PATIENCE_MS = "60000"
CONNECT_SECONDS = 30
ANSWER_SECONDS = 120
"""How long a catalog may take to answer. Without a limit, a call over a dead connection would never return."""
_POSTGRESQL_TIMEOUTS = {
    "jdbc.connectTimeout": str(CONNECT_SECONDS),
    "jdbc.socketTimeout": str(ANSWER_SECONDS),
    "jdbc.tcpKeepAlive": "true",
}
_TIMEOUTS = {
    "rest": {
        "rest.client.connection-timeout-ms": f"{CONNECT_SECONDS}000",
        "rest.client.socket-timeout-ms": f"{ANSWER_SECONDS}000",
    },
    # By default, the client of Hive's metastore would wait for ten minutes.
    "hive": {"hadoop.hive.metastore.client.socket.timeout": f"{ANSWER_SECONDS}s"},
}
S3_RETRIES = 10
"""For Iceberg's own S3 client, with pauses of 2 to 20 s; by default it gives up after less than a minute."""
MAIN = "main"
"""The branch that readers see."""


def settings(depots: Sequence[Depot], spark: str, *, local: bool) -> dict[str, str]:
    """The settings of the depots' catalogs, and of the catalog of forks."""
    made = {f"spark.sql.catalog.{FORKS}": _forks_class(spark)}
    for depot in depots:
        made |= dict(_catalogs(depot))
    return made


def _forks_class(spark: str) -> str:
    package = "org.apache.iceberg.spark"
    return f"{package}.SparkCachedTableCatalog" if spark.startswith("3.") else f"{package}.SparkRewriteTableCatalog"


def _catalogs(depot: Depot) -> Iterator[tuple[str, str]]:
    """The settings of the depot's own catalog and of its published catalog, in the same database."""
    if depot.catalog is None:
        return
    properties = {
        "type": depot.catalog.type,
        "uri": _uri(depot),
        "warehouse": depot.warehouse,
        # A cached table is stale as soon as another engine has committed.
        "cache-enabled": "false",
        **_of_database(_uri(depot)),
        **_TIMEOUTS.get(depot.catalog.type, {}),
        **_of_store(depot),
        **depot.catalog.properties,
    }
    yield from _catalog(depot.name, properties)
    if depot.publish:
        yield from _catalog(depot.publish, {**properties, **read_only(_uri(depot))})


def _catalog(name: str, properties: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    prefix = f"spark.sql.catalog.{name}"
    yield prefix, "org.apache.iceberg.spark.SparkCatalog"
    yield from ((f"{prefix}.{key}", value) for key, value in properties.items() if value)


def read_only(uri: str) -> dict[str, str]:
    """The properties of a catalog whose connections cannot write to its database, so that nobody commits through it."""
    if uri.startswith("jdbc:sqlite:"):
        return {"jdbc.open_mode": "1"}
    if uri.startswith("jdbc:postgresql:"):
        return {"jdbc.readOnly": "true", "jdbc.readOnlyMode": "always"}
    return {}


def _uri(depot: Depot) -> str:
    if depot.catalog is None:
        return ""
    return depot.catalog.uri or (f"jdbc:sqlite:{depot.catalog.database}" if depot.catalog.database else "")


def _of_database(uri: str) -> dict[str, str]:
    if not uri.startswith("jdbc:"):
        return {}
    schema = {"jdbc.schema-version": "V1"}
    if uri.startswith("jdbc:postgresql:"):
        # PostgreSQL reports a closed connection at its next use. Nothing was executed, so a retry is safe.
        return {**schema, "retryable_status_codes": "57P01", **_POSTGRESQL_TIMEOUTS}
    if not uri.startswith("jdbc:sqlite:"):
        return schema
    # With these, readers do not block the writer, and writers wait for each other instead of failing.
    return {**schema, "jdbc.journal_mode": "WAL", "jdbc.busy_timeout": SQLITE_PATIENCE_MS}


def _of_store(depot: Depot) -> dict[str, str]:
    if not depot.warehouse.startswith("s3://"):
        return {}
    return {"io-impl": "org.apache.iceberg.aws.s3.S3FileIO", "s3.retry.num-retries": str(S3_RETRIES)}


_OF_EVERY_WRITE = frozenset(
    {
        *("branch", "write-format", "target-file-size-bytes", "check-nullability", "check-ordering"),
        *("fanout-enabled", "distribution-mode", "use-table-distribution-and-ordering", "advisory-partition-size"),
        *("output-spec-id", "output-sort-order-id", "compression-codec", "compression-level", "compression-strategy"),
        *("shred-variants", "variant-inference-buffer-size"),
    }
)
_OF_COMMITS = frozenset({"snapshot-property.*"})
"""Only for direct commits: a buffer shares its snapshot with others."""


def write_options(format: str, mode: str, commit: str) -> frozenset[str]:
    """The options of Iceberg's writer that have an effect: MERGE INTO takes none, and a buffer has no snapshot."""
    if mode == "merge":
        return frozenset({"branch"})
    return _OF_EVERY_WRITE | _OF_COMMITS if commit == "direct" else _OF_EVERY_WRITE


_TIME_TRAVEL = frozenset(
    {
        *("snapshot-id", "as-of-timestamp", "tag", "branch", "versionAsOf", "timestampAsOf"),
        *("start-snapshot-id", "end-snapshot-id"),
    }
)
_OF_SCANS = frozenset(
    {
        *("split-size", "lookback", "file-open-cost", "vectorization-enabled", "batch-size", "locality"),
        "aggregate-push-down-enabled",
    }
)


def read_options(format: str, spark: str, given: Collection[str]) -> frozenset[str]:
    """The options of Iceberg's reader that have an effect: the others are for streams and changelogs."""
    return _TIME_TRAVEL | _OF_SCANS


def stream_options(format: str, spark: str) -> frozenset[str]:
    """The options of a stream of an Iceberg table."""
    limits = {"streaming-max-files-per-micro-batch", "streaming-max-rows-per-micro-batch"}
    skipping = {"streaming-skip-delete-snapshots", "streaming-skip-overwrite-snapshots"}
    return frozenset({"stream-from-timestamp", "split-size", "lookback", "file-open-cost", *limits, *skipping})


TRAITS = Traits(
    name="iceberg",
    formats=("iceberg",),
    is_table=True,
    catalogs={
        "jdbc": CatalogTraits(uri=("jdbc:",), keeps_depots_apart=True),
        "rest": CatalogTraits(uri=("http://", "https://"), needs_uri=True, location="name"),
        "hive": CatalogTraits(uri=("thrift://",), location="optional"),
        "hadoop": CatalogTraits(loses_commits=True),
    },
    catalog_required=True,
    publishes_with=frozenset({"jdbc"}),
    embedded=True,
    reserved_depots=frozenset({"default_iceberg"}),
    transforms=EVERY_TRANSFORM,
    merge=True,
    conflict=True,
    direct=True,
    groups=frozenset({"append", "overwrite"}),
    read_options=read_options,
    write_options=write_options,
    branches=True,
    evolving=frozenset({"iceberg"}),
    history=True,
    time_travel=_TIME_TRAVEL,
    streams=True,
    stream_options=stream_options,
    operations=frozenset(
        {"delete_from_dataset", "rewrite_dataset", "rewrite_manifest", "expire_snapshots", "remove_orphans"}
    ),
    rewrite_options=frozenset(
        {
            *("target-file-size-bytes", "min-file-size-bytes", "max-file-size-bytes", "min-input-files", "rewrite-all"),
            *("max-file-group-size-bytes", "max-file-group-input-files"),
            *("max-concurrent-file-group-rewrites", "max-files-to-rewrite"),
            *("partial-progress.enabled", "partial-progress.max-commits", "partial-progress.max-failed-commits"),
            *("delete-file-threshold", "delete-ratio-threshold", "remove-dangling-deletes"),
            *("use-starting-sequence-number", "rewrite-job-order", "output-spec-id", "compression-factor"),
            *("shuffle-partitions-per-file", "max-output-size", "var-length-contribution"),
        }
    ),
    changes=frozenset(
        {
            *("rollback", "set_snapshot", "set_version", "tag_create", "tag_delete"),
            *("branch_create", "branch_delete", "branch_fast_forward", "properties_set", "properties_unset"),
            *("column_add", "column_drop", "column_rename", "column_widen"),
            *("partition_add", "partition_drop", "partition_replace"),
        }
    ),
    drops=True,
    questions=frozenset({"table", "snapshots", "files", "versions", "metadata"}),
    packages={
        "4.1": (Package("org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"),),
        "3.5": (Package("org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.11.0"),),
    },
    always_installed=True,
    extension="org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    settings=settings,
    rules=(
        Rule(
            frozenset({"java.lang.IllegalStateException"}),
            JobError,
            "source-overwritten",
            "a stream reads tables that only grow",
            f"let the option that is named skip such commits, or {READ_ANEW}",
            thrown_by="org.apache.iceberg.spark.source.BaseSparkMicroBatchPlanner",
        ),
        Rule(
            frozenset({"java.lang.IllegalStateException"}),
            JobError,
            "source-history-gone",
            "the stream cannot go on from where it was",
            READ_ANEW,
            thrown_by="org.apache.iceberg.spark.source.SparkMicroBatchStream",
        ),
        Rule(
            frozenset({f"{EXCEPTIONS}CommitStateUnknownException"}),
            Retryable,
            "commit-unknown",
            "the catalog did not say whether the commit took place",
            "another attempt checks the table's history first and writes only what is missing",
        ),
        Rule(
            frozenset({f"{EXCEPTIONS}CommitFailedException"}),
            CommitConflict,
            None,
            "another writer committed first, and the two could not be reconciled",
            "run the job again; if this happens often, raise commit.retry.num-retries of the table",
        ),
        Rule(
            frozenset({FILE_MISSING}),
            JobError,
            "table-file-missing",
            "a file that the table refers to is missing",
            "bring the file back, or go back to a snapshot whose files are there (`catchment table snapshots`, "
            "`catchment table set-snapshot`); sealed writes wait until then",
        ),
        Rule(
            # Code that commits distinguishes conflicts from refusals itself; elsewhere it is always a refusal.
            frozenset({f"{EXCEPTIONS}ValidationException"}),
            JobError,
            "iceberg-refused",
            "",
            "correct the column, type or branch that the message names; without that, Iceberg will refuse it again",
        ),
    ),
    unavailable=frozenset(f"{EXCEPTIONS}{name}Exception" for name in ("REST", "ServiceUnavailable", "ServiceFailure")),
    refused=frozenset({f"{EXCEPTIONS}ForbiddenException", f"{EXCEPTIONS}NotAuthorizedException"}),
)

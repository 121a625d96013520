"""The traits of Delta tables."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from catchment.errors import CommitConflict
from catchment.formats.traits import READ_ANEW, CatalogTraits, Package, Rule, Traits

if TYPE_CHECKING:
    from catchment.project.model import Depot

SNAPSHOT_PARTITIONS = "4"
"""Partitions for reading a table's state: on one machine, Delta's default of fifty starts tasks without work."""
ANSWER_SECONDS = 120
"""How long a Hive metastore may take to answer. By default, its client would wait for ten minutes."""
ONE_FOR_EACH = (
    "let the last step return at most one row per row of the table, for example with row_number() or max_by()"
)


def settings(depots: Sequence[Depot], spark: str, *, local: bool) -> dict[str, str]:
    """Delta replaces Spark's own catalog, the only one in which tables can be named by path; other names still work."""
    catalog = {"spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog"}
    here = {"spark.databricks.delta.snapshotPartitions": SNAPSHOT_PARTITIONS} if local else {}
    return {**catalog, **here, **_hive(depots)}


def _hive(depots: Sequence[Depot]) -> dict[str, str]:
    """The settings that put Spark's own catalog into a Hive metastore."""
    catalog = next((depot.catalog for depot in depots if depot.catalog), None)
    if catalog is None:
        return {}
    properties = {
        "hive.metastore.uris": str(catalog.uri),
        "hive.metastore.client.socket.timeout": f"{ANSWER_SECONDS}s",
        **catalog.properties,
    }
    return {
        "spark.sql.catalogImplementation": "hive",
        **{f"spark.hadoop.{key}": value for key, value in properties.items()},
    }


def write_options(format: str, mode: str, commit: str) -> frozenset[str]:
    """The options of Delta's writer that have an effect: MERGE INTO takes none."""
    if mode == "merge":
        return frozenset()
    replacing = {"replaceWhere"} if mode == "overwrite" else set()
    return frozenset({"maxRecordsPerFile", "compression", "optimizeWrite"} | replacing)


_CHANGES = frozenset({"startingVersion", "startingTimestamp", "endingVersion", "endingTimestamp"})
_TIME_TRAVEL = frozenset({"versionAsOf", "timestampAsOf", "readChangeFeed"})


def read_options(format: str, spark: str, given: Collection[str]) -> frozenset[str]:
    """The options of Delta's reader, some only for its change feed; it passes file system settings on to Hadoop."""
    return _TIME_TRAVEL | {"fs.*", "dfs.*"} | (_CHANGES if "readchangefeed" in given else frozenset())


def stream_options(format: str, spark: str) -> frozenset[str]:
    """The options of a stream of a Delta table."""
    limits = {"maxFilesPerTrigger", "maxBytesPerTrigger"}
    start = {"startingVersion", "startingTimestamp", "withEventTimeOrder"}
    return frozenset({"ignoreDeletes", "ignoreChanges", "skipChangeCommits", "failOnDataLoss", *limits, *start})


_OVERWRITTEN = ("source-overwritten", f"give the input the option `skipChangeCommits`, or {READ_ANEW}")

TRAITS = Traits(
    name="delta",
    formats=("delta",),
    is_table=True,
    catalogs={"hive": CatalogTraits(uri=("thrift://",), needs_uri=True)},
    one_catalog=True,
    by_path=True,
    forbidden_in_names="-",
    merge=True,
    conflict=True,
    buffered=False,
    groups=frozenset({"append"}),
    read_options=read_options,
    write_options=write_options,
    evolving=frozenset({"delta"}),
    history=True,
    time_travel=_TIME_TRAVEL | _CHANGES,
    streams=True,
    stream_options=stream_options,
    operations=frozenset({"rewrite_dataset", "expire_snapshots"}),
    rewrite_options=frozenset({"target-file-size-bytes", "min-file-size-bytes", "delete-file-threshold"}),
    drops=True,
    questions=frozenset({"table", "snapshots", "files"}),
    packages={
        # Without dependencies: Spark has them, in the versions that it was built with.
        "4.1": (
            Package("io.delta:delta-spark_4.1_2.13:4.4.0", alone=True),
            Package("io.delta:delta-storage:4.4.0", alone=True),
        ),
        "3.5": (
            Package("io.delta:delta-spark_2.12:3.3.2", alone=True),
            Package("io.delta:delta-storage:3.3.2", alone=True),
        ),
    },
    extension="io.delta.sql.DeltaSparkSessionExtension",
    settings=settings,
    rules=(
        Rule(
            frozenset({"io.delta.exceptions.DeltaConcurrentModificationException"}),
            CommitConflict,
            None,
            "others kept committing to the table while this write was in progress",
            "run the job again; if this happens often, let jobs that replace the same partitions depend on each other",
        ),
    ),
    conditions={
        "DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE": ("merge-cardinality", ONE_FOR_EACH),
        "DELTA_SOURCE_IGNORE_DELETE": _OVERWRITTEN,
        "DELTA_SOURCE_TABLE_IGNORE_CHANGES": _OVERWRITTEN,
        "DELTA_LOG_FILE_NOT_FOUND_FOR_STREAMING_SOURCE": ("source-history-gone", READ_ANEW),
        "DELTA_STREAMING_TRAILING_COMMIT_MISSING": ("source-history-gone", READ_ANEW),
        "DELTA_MERGE_UNRESOLVED_EXPRESSION": ("column-not-found", "check the spelling of the columns in `merge`"),
    },
)

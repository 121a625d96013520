"""Inspection of Delta tables for `catchment table`, by an engine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timezone
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from catchment.formats.delta.catalog import located, named_tables
from catchment.formats.delta.commits import Commit
from catchment.formats.delta.log import require_head
from catchment.formats.delta.table_facts import TableState, Totals, files_facts, snapshot_facts, table_facts
from catchment.formats.facts import Facts, listed_tables
from catchment.jvm.classes import Jvm
from catchment.plan.model import Dataset
from catchment.project.model import Depot

_PATTERNS = re.compile(r"[\\?*\[\]{}]")
"""What means something in the patterns of Hadoop, and may be part of a location."""


def inspect(spark: SparkSession, what: str, dataset: Dataset) -> Facts:
    """Answer one question about a table."""
    here = located(spark, dataset)
    if what == "snapshots":
        return {"snapshots": snapshots(spark, here)}
    return {"files": files(spark, here)} if what == "files" else table(spark, here)


def tables(spark: SparkSession, depot: Depot) -> list[Facts]:
    """The tables of a depot: those in its catalog, and all directories `collection/table` that have a log."""
    known = set(named_tables(spark)) if depot.catalog else set()
    # A Hive metastore stores names in lower case.
    by_path = {(ns, name) for ns, name in tables_by_path(spark, depot.files) if (ns.lower(), name.lower()) not in known}
    return listed_tables(depot.name, known | by_path)


def tables_by_path(spark: SparkSession, location: str) -> Iterator[tuple[str, str]]:
    """Collection and name of every directory of a depot that has a log."""
    plain = _PATTERNS.sub(r"\\\g<0>", location.rstrip("/"))
    place = Jvm.of(spark)("org.apache.hadoop.fs.Path")(f"{plain}/*/*/_delta_log")
    files = place.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())
    for found in files.globStatus(place) or ():
        namespace, table = str(found.getPath().toString()).split("/")[-3:-1]
        yield namespace, table


def snapshots(spark: SparkSession, dataset: Dataset) -> list[Facts]:
    """Every version that is still in the log, oldest first."""
    require_head(spark, dataset)
    history = spark.sql(f"DESCRIBE HISTORY {dataset.identifier}").orderBy("version").collect()
    return [
        snapshot_facts(Commit(row.version, row.asDict()), row.timestamp.replace(tzinfo=timezone.utc)) for row in history
    ]


def table(spark: SparkSession, dataset: Dataset) -> Facts:
    """Columns, partitions, properties and size of the current version."""
    head = require_head(spark, dataset)
    [size] = _files(spark, head.snapshot).agg(F.count("*"), F.sum("size"), F.sum("rows")).collect()
    return table_facts(
        dataset,
        TableState(
            head.version,
            head.protocol["minWriterVersion"],
            head.metadata["schemaString"],
            head.partitions,
            head.properties,
        ),
        Totals(int(size[2] or 0), int(size[0]), int(size[1] or 0)),
        len(snapshots(spark, dataset)),
    )


def files(spark: SparkSession, dataset: Dataset) -> list[Facts]:
    """The data files of the current version."""
    found = _files(spark, require_head(spark, dataset).snapshot).collect()
    return files_facts(dataset, ((row.path, row.rows, row.size) for row in found))


def _files(spark: SparkSession, snapshot: Any) -> DataFrame:
    added = DataFrame(snapshot.allFiles().toDF(), spark)
    return added.select("path", "size", F.get_json_object("stats", "$.numRecords").cast("long").alias("rows"))

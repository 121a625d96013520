"""Inspection of Delta tables for `catchment table`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timezone
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from catchment.formats import stamps
from catchment.formats.delta.catalog import located, named_tables
from catchment.formats.delta.log import Commit, require_head
from catchment.formats.facts import Facts, listed_tables
from catchment.jvm.classes import Jvm
from catchment.plan.model import Dataset
from catchment.project.model import Depot
from catchment.run_model import snapshot_name


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
    by_path = {
        (ns, name) for ns, name in _tables_by_path(spark, depot.files) if (ns.lower(), name.lower()) not in known
    }
    return listed_tables(depot.name, known | by_path)


def _tables_by_path(spark: SparkSession, location: str) -> Iterator[tuple[str, str]]:
    place = Jvm.of(spark)("org.apache.hadoop.fs.Path")(f"{location.rstrip('/')}/*/*/_delta_log")
    files = place.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())
    for found in files.globStatus(place) or ():
        namespace, table = str(found.getPath().toString()).split("/")[-3:-1]
        yield namespace, table


def snapshots(spark: SparkSession, dataset: Dataset) -> list[Facts]:
    """Every version that is still in the log, oldest first."""
    require_head(spark, dataset)
    history = spark.sql(f"DESCRIBE HISTORY {dataset.identifier}").orderBy("version").collect()
    return [_snapshot(row) for row in history]


def table(spark: SparkSession, dataset: Dataset) -> Facts:
    """Columns, partitions, properties and size of the current version."""
    head = require_head(spark, dataset)
    [size] = _files(spark, head.snapshot).agg(F.count("*"), F.sum("size"), F.sum("rows")).collect()
    protocol = json.loads(head.snapshot.protocol().json())["protocol"]
    return {
        "address": dataset.address,
        "location": dataset.path,
        "format_version": protocol["minWriterVersion"],
        "columns": [
            {
                "name": field.name,
                "type": field.dataType.simpleString(),
                "required": not field.nullable,
                "comment": field.metadata.get("comment"),
            }
            for field in head.schema.fields
        ],
        "partitions": [{"name": name, "transform": "identity", "column": name} for name in head.partitions],
        "properties": dict(head.properties),
        "rows": int(size[2] or 0),
        "files": int(size[0]),
        "bytes": int(size[1] or 0),
        "snapshot_id": snapshot_name(head.version),
        "snapshots": len(snapshots(spark, dataset)),
    }


def files(spark: SparkSession, dataset: Dataset) -> list[Facts]:
    """The data files of the current version."""
    found = _files(spark, require_head(spark, dataset).snapshot).orderBy("path").collect()
    place = str(dataset.path).rstrip("/")
    return [
        {"path": f"{place}/{row.path}", "format": "PARQUET", "rows": row.rows, "bytes": row.size, "spec_id": 0}
        for row in found
    ]


def _files(spark: SparkSession, snapshot: Any) -> DataFrame:
    added = DataFrame(snapshot.allFiles().toDF(), spark)
    return added.select("path", "size", F.get_json_object("stats", "$.numRecords").cast("long").alias("rows"))


def _snapshot(row: Row) -> Facts:
    commit = Commit(row.version, row.asDict())
    stamp, done = commit.stamp, commit.committed()
    write_ids = list(commit.write_ids)
    return {
        "snapshot_id": snapshot_name(row.version),
        "committed_at": row.timestamp.replace(tzinfo=timezone.utc).isoformat(timespec="milliseconds"),
        "operation": row.operation.lower(),
        "workflow": stamp.get(stamps.WORKFLOW),
        "job": stamp.get(stamps.JOB),
        "run_id": stamp.get(stamps.RUN),
        "write_ids": write_ids,
        "writes": [{"write_id": each, "rows": commit.committed(each).rows} for each in write_ids],
        "added_rows": done.rows,
    }

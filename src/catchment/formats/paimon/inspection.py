"""Inspection of Paimon tables for `catchment table`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from pyspark.sql import SparkSession

from catchment.formats.facts import Facts, listed_tables
from catchment.formats.paimon.catalogs import open_catalog
from catchment.formats.paimon.java import commits
from catchment.formats.paimon.snapshot_facts import snapshot_facts
from catchment.formats.paimon.snapshots import read_back
from catchment.formats.paimon.table import Table, require_table
from catchment.plan.model import Dataset
from catchment.project.model import Depot
from catchment.run_model import snapshot_name


def inspect(spark: SparkSession, what: str, dataset: Dataset) -> Facts:
    """Answer one question about a table."""
    if what == "snapshots":
        return {"snapshots": snapshots(spark, dataset)}
    return {"files": files(spark, dataset)} if what == "files" else table(spark, dataset)


def tables(spark: SparkSession, depot: Depot) -> list[Facts]:
    """The tables of a depot's catalog."""
    catalog = open_catalog(spark, depot.name)
    spaces = {str(name) for name in catalog.listDatabases()}  # a JDBC catalog lists some of them twice
    return listed_tables(depot.name, ((space, str(name)) for space in spaces for name in catalog.listTables(space)))


def snapshots(spark: SparkSession, dataset: Dataset) -> list[Facts]:
    """Every snapshot that still exists, oldest first."""
    found = require_table(spark, dataset)
    newest = found.newest()
    known = read_back(spark, found.java, newest.id) if newest else []
    return [snapshot_facts(each) for each in reversed(known)]


def table(spark: SparkSession, dataset: Dataset) -> Facts:
    """Columns, key, partitions, properties and size of the newest snapshot."""
    found = require_table(spark, dataset)
    newest = found.newest()
    known = files(spark, dataset)
    return {
        "address": dataset.address,
        "location": found.location,
        "format_version": found.schema_id,
        "columns": [
            {
                "name": field.name,
                "type": field.dataType.simpleString(),
                "required": not field.nullable,
                "comment": field.metadata.get("comment"),
            }
            for field in found.schema.fields
        ],
        "primary_key": list(found.keys),
        "partitions": [{"name": name, "transform": "identity", "column": name} for name in found.partitions],
        "tags": [{"name": name, "snapshot_id": snapshot_name(id)} for name, id in sorted(found.tags().items())],
        "properties": {key: value for key, value in sorted(found.options.items()) if key != "path"},
        "rows": newest.rows if newest else 0,
        "files": len(known),
        "bytes": sum(file["bytes"] for file in known),
        "snapshot_id": snapshot_name(newest.id) if newest else None,
        "snapshots": len(snapshots(spark, dataset)),
    }


def files(spark: SparkSession, dataset: Dataset) -> list[Facts]:
    """The data files of the newest snapshot."""
    return [
        {"path": file.path, "format": file.format.upper(), "rows": file.rows, "bytes": file.bytes, "spec_id": 0}
        for file in data_files(require_table(spark, dataset))
    ]


class DataFile(NamedTuple):
    """A data file of the newest snapshot."""

    rows: int
    bytes: int
    level: int
    created: float
    """In seconds since 1970."""
    format: str
    path: str
    partition: Mapping[str, str | None]
    """Values as text, by column; empty if the table has no partitions."""

    @property
    def bucket(self) -> str:
        """The directory of its bucket."""
        return self.path.rsplit("/", 2)[1]


def data_files(table: Table) -> list[DataFile]:
    """The data files of the newest snapshot, in the order of their paths."""
    listed = json.loads(commits(table.spark).files(table.java))
    return sorted((_data_file(*each) for each in listed), key=lambda file: file.path)


def _data_file(rows: int, size: int, level: int, millis: int, *rest: Any) -> DataFile:
    return DataFile(rows, size, level, millis / 1000, *rest)

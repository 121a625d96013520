"""Inspection of Iceberg tables for `catchment table`, by an engine."""

from __future__ import annotations

import json

from pyspark.sql import SparkSession

from catchment.formats.facts import Facts, listed_tables
from catchment.formats.iceberg import catalogs, snapshot_lookup
from catchment.formats.iceberg.catalogs import Table
from catchment.formats.iceberg.metadata_files import with_published
from catchment.formats.iceberg.published import PublishedTable
from catchment.formats.iceberg.table_facts import metadata_facts, snapshots_facts, table_facts, versions_facts
from catchment.formats.iceberg.versions import Versions
from catchment.plan.model import Dataset


def inspect(spark: SparkSession, what: str, dataset: Dataset, published: str | None) -> Facts:
    """Answer one question about a table."""
    table = catalogs.require_table(spark, dataset)
    if what == "versions":
        return _versions(spark, table, dataset, published)
    if what == "files":
        return _files(spark, dataset)
    metadata = json.loads(snapshot_lookup.metadata(spark, table))
    if what == "snapshots":
        return snapshots_facts(metadata)
    if what == "metadata":
        location = table.operations().current().metadataFileLocation()
        return metadata_facts(dataset.address, str(location), metadata)
    return table_facts(dataset.address, metadata)


def tables(spark: SparkSession, depot: str) -> list[Facts]:
    """Every table of a catalog."""
    catalog = catalogs.open_catalog(spark, depot)
    return listed_tables(
        depot,
        (
            (str(namespace), str(found.name()))
            for namespace in catalog.listNamespaces()
            for found in catalog.listTables(namespace)
        ),
    )


def _versions(spark: SparkSession, table: Table, dataset: Dataset, catalog: str | None) -> Facts:
    """The versions of a table, oldest first; a published version that the table no longer lists comes first."""
    versions = Versions(spark, table)
    pointer = PublishedTable(spark, catalog, dataset).pointer() if catalog else None
    published = pointer.location if pointer else None
    known = with_published(versions.known(), published)
    return versions_facts(map(versions.read_metadata, known), known[-1].location, published)


def _files(spark: SparkSession, dataset: Dataset) -> Facts:
    columns = ("file_path", "file_format", "record_count", "file_size_in_bytes", "spec_id")
    rows = spark.table(f"{dataset.identifier}.files").select(*columns).orderBy("file_path").collect()
    return {"files": [{"path": r[0], "format": r[1], "rows": r[2], "bytes": r[3], "spec_id": r[4]} for r in rows]}

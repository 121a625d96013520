"""Delta tables of a catalog: Spark's own, which a Hive metastore keeps. It knows names and places; the log knows all
else, so that a table is written the same way whether it is called by its name or found by its path."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pyspark.sql import SparkSession

from catchment.errors import JobError
from catchment.jvm.classes import Jvm
from catchment.plan.model import Dataset


def located(spark: SparkSession, dataset: Dataset) -> Dataset:
    """The dataset with the place where the catalog says its table is; without a table, where a new one is made."""
    place = _place(spark, dataset) if dataset.named else None
    return replace(dataset, path=place) if place else dataset


def is_known(spark: SparkSession, dataset: Dataset) -> bool:
    """Whether the table is found by its name, where it is to have one."""
    return not dataset.named or _place(spark, dataset) is not None


def make_collection(spark: SparkSession, dataset: Dataset) -> None:
    """Make the database that stands for a collection, with a place inside the depot."""
    place = str(dataset.path).rstrip("/").rpartition("/")[0]
    spark.sql(f"CREATE DATABASE IF NOT EXISTS `{dataset.namespace}` LOCATION '{place}'")


def name_of(dataset: Dataset) -> str:
    """What the table is called in the catalog."""
    return f"`{dataset.namespace}`.`{dataset.table}`"


def named_tables(spark: SparkSession) -> Iterator[tuple[str, str]]:
    """Collection and name of every Delta table that the catalog knows."""
    catalog = spark._jsparkSession.sharedState().externalCatalog()
    for namespace in _items(catalog.listDatabases()):
        found = catalog.getTablesByName(namespace, catalog.listTables(namespace))
        for table in _items(found):
            if _provider(table) == "delta":
                yield str(namespace), str(table.identifier().table())


def _place(spark: SparkSession, dataset: Dataset) -> str | None:
    catalog, jvm = spark._jsparkSession.sharedState().externalCatalog(), Jvm.of(spark)
    if not catalog.tableExists(dataset.namespace, dataset.table):
        return None
    table = catalog.getTable(dataset.namespace, dataset.table)
    if (provider := _provider(table)) != "delta":
        raise JobError(
            f"the catalog knows {dataset.address} as a table of {provider}, not of Delta",
            code="not-a-delta-table",
            hint="use another name, or convert the table with CONVERT TO DELTA",
        )
    # The same place has one spelling: the lease of the table is named after it.
    place = jvm("org.apache.hadoop.fs.Path")(table.location())
    remote = place.toUri().getScheme() not in (None, "file")
    return str(place.toString() if remote else place.toUri().getPath())


def _provider(table: Any) -> str:
    given = table.provider()
    return str(given.get()).lower() if given.isDefined() else "hive"


def _items(sequence: Any) -> Iterator[Any]:
    return (sequence.apply(index) for index in range(sequence.size()))

"""Tables and namespaces of an Iceberg catalog, through Iceberg's Java API."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from catchment.formats.iceberg.java import Jvm
from catchment.formats.iceberg.table import MAIN
from catchment.formats.iceberg.traits import EXCEPTIONS as EXCEPTIONS
from catchment.formats.missing_tables import table_not_found
from catchment.formats.spark_catalogs import open_patiently
from catchment.jvm.causes import is_a
from catchment.plan.model import Dataset, OutputPlan

NOT_THERE = (f"{EXCEPTIONS}NoSuchTableException", f"{EXCEPTIONS}NoSuchNamespaceException")
LOST_RACES = (f"{EXCEPTIONS}AlreadyExistsException", f"{EXCEPTIONS}CommitFailedException")
SQL_TROUBLE = "org.apache.iceberg.jdbc.UncheckedSQLException"

Table = Any
"""A org.apache.iceberg.Table in the JVM."""


def open_catalog(spark: SparkSession, depot: str) -> Any:
    """The org.apache.iceberg.catalog.Catalog of a depot."""
    load = Jvm.of(spark).iceberg("spark.Spark3Util").loadIcebergCatalog
    return open_patiently(lambda: load(spark._jsparkSession, depot), SQL_TROUBLE)


def find_table(spark: SparkSession, dataset: Dataset) -> Table | None:
    """The current state of the table; None if there is none."""
    try:
        return open_catalog(spark, dataset.depot).loadTable(identifier(spark, dataset))
    except Exception as error:
        if is_a(error, *NOT_THERE):
            return None
        raise


def require_table(spark: SparkSession, dataset: Dataset) -> Table:
    """The current state of the table; raises if there is none."""
    table = find_table(spark, dataset)
    if table is None:
        raise table_not_found(dataset)
    return table


def create_table(
    spark: SparkSession, dataset: Dataset, schema: Any, spec: Any, properties: dict[str, str]
) -> tuple[Table, bool]:
    """Create a table; if another job has created it in the meantime, returns that one and False."""
    catalog = open_catalog(spark, dataset.depot)
    name = identifier(spark, dataset)
    _ensure_namespace(spark, catalog, name.namespace())
    try:
        return catalog.createTable(name, schema, spec, properties), True
    except Exception as error:
        if not is_a(error, *LOST_RACES):
            raise
        return catalog.loadTable(name), False


def drop_table(spark: SparkSession, dataset: Dataset) -> None:
    """Drop a table; its files stay."""
    open_catalog(spark, dataset.depot).dropTable(identifier(spark, dataset), False)  # noqa: FBT003


def identifier(spark: SparkSession, dataset: Dataset) -> Any:
    """The table's identifier in Iceberg."""
    return Jvm.of(spark).iceberg("catalog.TableIdentifier").parse(f"{dataset.namespace}.{dataset.table}")


def branch_of(output: OutputPlan) -> str:
    """The branch that an output writes to."""
    return output.options.get("branch", MAIN)


def identifier_of(dataset: Dataset, branch: str) -> str:
    """The name of a branch of a table in Spark SQL."""
    return dataset.identifier if branch == MAIN else f"{dataset.identifier}.`branch_{branch}`"


def _ensure_namespace(spark: SparkSession, catalog: Any, namespace: Any) -> None:
    if catalog.namespaceExists(namespace):
        return
    try:
        catalog.createNamespace(namespace)
    except Exception:
        # Two jobs may create it at the same time. The error of the second one depends on the catalog, so check again.
        if not catalog.namespaceExists(namespace):
            raise

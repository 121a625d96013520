"""Tables and namespaces of an Iceberg catalog, through Iceberg's Java API."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from catchment.commit.listener import Listener
from catchment.formats.backoff import attempts
from catchment.formats.failures import from_spark
from catchment.formats.iceberg.java import Jvm, tables
from catchment.formats.iceberg.table import MAIN
from catchment.formats.iceberg.traits import EXCEPTIONS as EXCEPTIONS
from catchment.formats.missing_tables import table_not_found
from catchment.formats.spark_catalogs import open_patiently
from catchment.jvm.causes import causes, is_a
from catchment.plan.model import Dataset, OutputPlan

NOT_THERE = (f"{EXCEPTIONS}NoSuchTableException", f"{EXCEPTIONS}NoSuchNamespaceException")
LOST_RACES = (f"{EXCEPTIONS}AlreadyExistsException", f"{EXCEPTIONS}CommitFailedException")
SQL_TROUBLE = "org.apache.iceberg.jdbc.UncheckedSQLException"

PATIENCE_SECONDS = 300.0
"""How long a write waits for a catalog that has answered before."""
CUT_OFF = frozenset(
    {
        "java.io.EOFException",
        "java.net.SocketException",
        "java.net.SocketTimeoutException",
        "java.sql.SQLNonTransientConnectionException",
        "org.apache.http.NoHttpResponseException",
        f"{EXCEPTIONS}ServiceUnavailableException",
    }
)
CUT_OFF_STATES = ("08", "57P")
"""Prefixes of SQL states that are about the connection or the server, not about the request."""

Table = Any
"""An org.apache.iceberg.Table in the JVM."""


def open_catalog(spark: SparkSession, depot: str) -> Any:
    """The org.apache.iceberg.catalog.Catalog of a depot."""
    load = Jvm.of(spark).static("org.apache.iceberg.spark.Spark3Util", "loadIcebergCatalog")
    return open_patiently(lambda: load(spark._jsparkSession, depot), SQL_TROUBLE)


def find_table(spark: SparkSession, dataset: Dataset) -> Table | None:
    """The current state of the table; None if there is none."""
    return _find_in(spark, open_catalog(spark, dataset.depot), dataset)


def _find_in(spark: SparkSession, catalog: Any, dataset: Dataset) -> Table | None:
    try:
        return tables(spark).load(catalog, _name(dataset))
    except Exception as error:
        if is_a(error, *NOT_THERE):
            return None
        raise


def await_table(spark: SparkSession, dataset: Dataset, listener: Listener) -> Table | None:
    """The current state of the table, for a write; waits if the catalog cannot be reached for a while.

    It does not wait for a catalog that cannot be opened: the address is then more likely to be wrong.
    """
    catalog, told = open_catalog(spark, dataset.depot), False
    for _ in attempts(None, seconds=PATIENCE_SECONDS):
        listener.check()
        try:
            return _find_in(spark, catalog, dataset)
        except Exception as error:
            if not _is_cut_off(error):
                raise
            problem = from_spark(error)
        if not told:
            listener.warn(f"the catalog of {dataset.depot} cannot be reached, waiting for it: {problem.message}")
            told = True
    raise problem


def _is_cut_off(error: Exception) -> bool:
    """Whether a catalog could not be reached, as opposed to refusing a request."""
    return any(cause.classes & CUT_OFF or (cause.sql_state or "").startswith(CUT_OFF_STATES) for cause in causes(error))


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


def purge_table(spark: SparkSession, dataset: Dataset) -> None:
    """Drop a table with all files that its snapshots refer to."""
    open_catalog(spark, dataset.depot).dropTable(identifier(spark, dataset), True)  # noqa: FBT003


def identifier(spark: SparkSession, dataset: Dataset) -> Any:
    """The table's identifier in Iceberg."""
    return Jvm.of(spark).iceberg("catalog.TableIdentifier").parse(_name(dataset))


def _name(dataset: Dataset) -> str:
    return f"{dataset.namespace}.{dataset.table}"


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

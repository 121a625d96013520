"""Delta tables in Spark's own catalog, which a Hive metastore keeps.

The catalog knows only names and locations; everything else is in the table's log. A table is therefore written in the
same way by its name and by its path.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

from catchment.errors import JobError
from catchment.formats.delta.traits import TRAITS
from catchment.formats.sql_names import Edit, parsed
from catchment.jvm.classes import Jvm
from catchment.plan.model import Dataset
from catchment.project.model import Depot

if TYPE_CHECKING:
    from sqlglot import exp


def located(spark: SparkSession, dataset: Dataset) -> Dataset:
    """The dataset with the location of its table in the catalog; unchanged if the catalog has no such table."""
    place = _place(spark, dataset) if dataset.named else None
    return replace(dataset, path=place) if place else dataset


def is_known(spark: SparkSession, dataset: Dataset) -> bool:
    """Whether the catalog knows the table, or the table needs no catalog."""
    return not dataset.named or _place(spark, dataset) is not None


def make_collection(spark: SparkSession, dataset: Dataset) -> None:
    """Create the database of a collection, with its location inside the depot."""
    place = str(dataset.path).rstrip("/").rpartition("/")[0]
    spark.sql(f"CREATE DATABASE IF NOT EXISTS `{dataset.namespace}` LOCATION '{place}'")


def name_of(dataset: Dataset) -> str:
    """The table's name in the catalog."""
    return f"`{dataset.namespace}`.`{dataset.table}`"


def named_tables(spark: SparkSession) -> Iterator[tuple[str, str]]:
    """Collection and name of every Delta table that the catalog knows."""
    for namespace, table in _tables(spark):
        if _provider(table) == "delta":
            yield namespace, str(table.identifier().table())


def named_places(spark: SparkSession) -> Iterator[tuple[str, str, str]]:
    """Collection, name and location of every table that the catalog knows, of any format; views have no location."""
    for namespace, table in _tables(spark):
        location = table.storage().locationUri()
        if location.isDefined():
            yield namespace, str(table.identifier().table()), _spelled(spark, location.get())


def _tables(spark: SparkSession) -> Iterator[tuple[str, Any]]:
    catalog = spark._jsparkSession.sharedState().externalCatalog()
    for namespace in _items(catalog.listDatabases()):
        for table in _items(catalog.getTablesByName(namespace, catalog.listTables(namespace))):
            yield str(namespace), table


def _place(spark: SparkSession, dataset: Dataset) -> str | None:
    catalog = spark._jsparkSession.sharedState().externalCatalog()
    if not catalog.tableExists(dataset.namespace, dataset.table):
        return None
    table = catalog.getTable(dataset.namespace, dataset.table)
    if (provider := _provider(table)) != "delta":
        raise JobError(
            f"the catalog lists {dataset.address} as a {provider} table, not as a Delta table",
            code="not-a-delta-table",
            hint="use another name, or convert the table with CONVERT TO DELTA",
        )
    return _spelled(spark, table.location())


def _spelled(spark: SparkSession, location: Any) -> str:
    """A location in its only spelling: the lease of a table is named after it."""
    place = Jvm.of(spark)("org.apache.hadoop.fs.Path")(location)
    remote = place.toUri().getScheme() not in (None, "file")
    return str(place.toString() if remote else place.toUri().getPath())


def _provider(table: Any) -> str:
    given = table.provider()
    return str(given.get()).lower() if given.isDefined() else "hive"


def _items(sequence: Any) -> Iterator[Any]:
    return (sequence.apply(index) for index in range(sequence.size()))


def edits(sql: str, depots: Sequence[Depot]) -> Iterator[Edit]:
    """Replace the names of tables in Delta depots with the names under which Spark finds them."""
    named = {depot.name: depot for depot in depots if depot.kind == TRAITS.name}
    statement = parsed(sql, named)
    return _edits(statement, named) if statement else iter(())


def _edits(statement: exp.Expr, depots: Mapping[str, Depot]) -> Iterator[Edit]:
    from sqlglot import exp

    for table in statement.find_all(exp.Table):
        if table.catalog in depots and table.db and isinstance(table.this, exp.Identifier):
            yield _edit(table, depots[table.catalog])


def _edit(table: exp.Table, depot: Depot) -> Edit:
    catalog = table.args["catalog"].meta
    if depot.catalog is not None:
        return catalog["start"], catalog["end"] + 1, "spark_catalog"
    path = f"delta.`{depot.files.rstrip('/')}/{table.db}/{table.name}`"
    # Columns cannot be qualified with a path, so the table keeps its name as an alias.
    own = f" AS `{table.name}`" if _lacks_alias(table) else ""
    return catalog["start"], table.this.meta["end"] + 1, path + own


def _lacks_alias(table: exp.Table) -> bool:
    from sqlglot import exp

    return isinstance(table.parent, exp.From | exp.Join) and not table.alias and not table.args.get("version")

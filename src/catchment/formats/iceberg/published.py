"""The published catalog: for each table one pointer to the metadata file of its published version.

Iceberg has no operation for this: every commit writes a new metadata file, and a table can be registered again only
after it was dropped, so that readers would see no table for a while. The pointer is therefore moved as Iceberg's JDBC
catalog does it: with one UPDATE of its row whose condition is the previous file. The first publication uses Iceberg's
registerTable, which takes the file as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from catchment.formats.iceberg import catalogs
from catchment.formats.iceberg.java import Jvm
from catchment.formats.iceberg.traits import read_only
from catchment.jvm.causes import is_a
from catchment.plan.model import Dataset

_ROW = "catalog_name = ? AND table_namespace = ? AND table_name = ?"
_LOOK = f"SELECT metadata_location, previous_metadata_location FROM iceberg_tables WHERE {_ROW}"  # noqa: S608
_MOVE = (
    "UPDATE iceberg_tables SET metadata_location = ?, previous_metadata_location = ? "  # noqa: S608
    f"WHERE {_ROW} AND metadata_location = ?"
)


@dataclass(frozen=True)
class Pointer:
    """The metadata file that readers of a table see."""

    location: str
    before: str | None
    """The file that they saw before."""


@dataclass(frozen=True)
class PublishedTable:
    """One table in the published catalog of its depot."""

    spark: SparkSession
    catalog: str
    dataset: Dataset

    def pointer(self) -> Pointer | None:
        """The current pointer; None if the table was never published."""
        # The depot's own catalog is in the same database; opening it creates the database's tables if they are missing.
        catalogs.open_catalog(self.spark, self.dataset.depot)
        with self._prepared(_LOOK, *self._row) as statement:
            found = statement.executeQuery()
            return Pointer(str(found.getString(1)), found.getString(2)) if found.next() else None

    def move(self, pointer: Pointer | None, to: str) -> bool:
        """Move the pointer to another file; False if it is no longer at `pointer`, because others moved it first."""
        if pointer is None:
            return self._register(to)
        with self._prepared(_MOVE, to, pointer.location, *self._row, pointer.location) as statement:
            return int(statement.executeUpdate()) == 1

    def withdraw(self) -> None:
        """Remove the pointer, so that readers no longer see the table. The files stay."""
        with closing(self._writable()) as catalog:
            catalog.dropTable(catalogs.identifier(self.spark, self.dataset), False)  # noqa: FBT003

    @property
    def _row(self) -> tuple[str, str, str]:
        return self.catalog, str(self.dataset.namespace), str(self.dataset.table)

    def _register(self, location: str) -> bool:
        try:
            with closing(self._writable()) as catalog:
                catalog.registerTable(catalogs.identifier(self.spark, self.dataset), location)
        except Exception as error:
            if not is_a(error, *catalogs.LOST_RACES):
                raise
            return False
        return True

    def _writable(self) -> Any:
        """The published catalog on a writable connection, which is used only for publishing."""
        jvm = Jvm.of(self.spark)
        properties = jvm("java.util.HashMap")()
        for key, value in self._settings().items():
            properties.put(key, value)
        session = self.spark._jsparkSession
        conf = jvm.iceberg("spark.SparkUtil").hadoopConfCatalogOverrides(session, self.catalog)
        return jvm.iceberg("CatalogUtil").buildIcebergCatalog(self.catalog, properties, conf)

    @contextmanager
    def _prepared(self, sql: str, *values: str) -> Iterator[Any]:
        with closing(self._connect()) as connection, closing(connection.prepareStatement(sql)) as statement:
            for number, value in enumerate(values, 1):
                statement.setString(number, value)
            yield statement

    def _connect(self) -> Any:
        jvm, settings = Jvm.of(self.spark), self._settings()
        properties = jvm("java.util.Properties")()
        for key, value in settings.items():
            if key.startswith("jdbc."):
                properties.setProperty(key.removeprefix("jdbc."), value)
        return jvm("java.sql.DriverManager").getConnection(settings["uri"], properties)

    def _settings(self) -> dict[str, str]:
        """The settings of the published catalog, without those that make it read-only elsewhere."""
        jvm, prefix = Jvm.of(self.spark), f"spark.sql.catalog.{self.catalog}."
        # The session's settings include the application's, so every catalog is found in them.
        conf = self.spark._jsparkSession.conf().getAll()
        every = dict(jvm("scala.collection.JavaConverters").mapAsJavaMap(conf))
        own = {key.removeprefix(prefix): value for key, value in every.items() if key.startswith(prefix)}
        return {key: value for key, value in own.items() if key not in read_only(own["uri"])}

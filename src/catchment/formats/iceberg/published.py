"""The published catalog: for each table one pointer, to the metadata file that readers see.

Iceberg's own ways do not fit. Whatever commits to a table writes a new metadata file, and registering a table anew
needs a drop first, in which readers see no table at all. So the pointer is moved as Iceberg's JDBC catalog itself moves
it: by one update of its row that names the file which the row had before. The first publication is Iceberg's own
registration, which takes the file as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from catchment.formats.iceberg import catalogs
from catchment.formats.iceberg.java import Jvm
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
    """Which metadata file the readers of a table see."""

    location: str
    before: str | None
    """The one that they saw before."""


@dataclass(frozen=True)
class Published:
    """One table in the published catalog of its depot."""

    spark: SparkSession
    catalog: str
    dataset: Dataset

    def look(self) -> Pointer | None:
        """What readers see now; None where the table was never published."""
        catalogs.open_catalog(self.spark, self.catalog)  # makes the catalog's own tables, where they are missing
        with self._prepared(_LOOK, *self._row) as statement:
            found = statement.executeQuery()
            return Pointer(str(found.getString(1)), found.getString(2)) if found.next() else None

    def move(self, pointer: Pointer | None, to: str) -> bool:
        """Let readers see another file, if they still see what was looked at; False where others were first."""
        if pointer is None:
            return self._register(to)
        with self._prepared(_MOVE, to, pointer.location, *self._row, pointer.location) as statement:
            return int(statement.executeUpdate()) == 1

    @property
    def _row(self) -> tuple[str, str, str]:
        return self.catalog, str(self.dataset.namespace), str(self.dataset.table)

    def _register(self, location: str) -> bool:
        catalog = catalogs.open_catalog(self.spark, self.catalog)
        try:
            catalog.registerTable(catalogs.identifier(self.spark, self.dataset), location)
        except Exception as error:
            if not is_a(error, *catalogs.LOST_RACES):
                raise
            return False
        return True

    @contextmanager
    def _prepared(self, sql: str, *values: str) -> Iterator[Any]:
        with closing(self._connect()) as connection, closing(connection.prepareStatement(sql)) as statement:
            for number, value in enumerate(values, 1):
                statement.setString(number, value)
            yield statement

    def _connect(self) -> Any:
        jvm, prefix = Jvm.of(self.spark), f"spark.sql.catalog.{self.catalog}."
        properties = jvm("java.util.Properties")()
        conf = self.spark.sparkContext.getConf().getAll()
        for key, value in conf:
            if key.startswith(f"{prefix}jdbc."):
                properties.setProperty(key.removeprefix(f"{prefix}jdbc."), value)
        return jvm("java.sql.DriverManager").getConnection(dict(conf)[f"{prefix}uri"], properties)

"""Readers that share nothing with Catchment: PyIceberg on the catalog's database, DuckDB on a metadata file."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import duckdb
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table


def pyiceberg_table(database: Path, catalog: str, name: str) -> Table | None:
    """A table as PyIceberg finds it in a catalog of an SQLite file."""
    opened = SqlCatalog(catalog, uri=f"sqlite:///{database}", init_catalog_tables="false")
    try:
        return opened.load_table(name)
    except NoSuchTableError:
        return None
    finally:
        opened.engine.dispose()


def pyiceberg_ids(database: Path, catalog: str, name: str) -> list[int]:
    """The ids in a table, by PyIceberg."""
    found = pyiceberg_table(database, catalog, name)
    assert found is not None
    return sorted(found.scan(selected_fields=("id",)).to_arrow()["id"].to_pylist())


def duckdb_ids(metadata_file: str) -> list[int]:
    """The ids in the table that one metadata file describes, by DuckDB."""
    # The extensions come with packages of their own and need no signature from elsewhere.
    with duckdb.connect(config={"allow_unsigned_extensions": "true"}) as connection:
        for package in map(find_spec, ("duckdb_extension_avro", "duckdb_extension_iceberg")):
            assert package
            (extension,) = Path(str(package.origin)).parent.rglob("*.duckdb_extension")
            connection.execute(f"LOAD '{extension}'")
        rows = connection.execute("SELECT id FROM iceberg_scan(?) ORDER BY id", [metadata_file.removeprefix("file:")])
        return [row[0] for row in rows.fetchall()]

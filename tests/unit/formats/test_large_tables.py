"""The files of very large tables are counted by engines, which are quicker then and have the memory."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyiceberg.catalog.sql import SqlCatalog

from catchment.formats.delta import metadata_reader as delta_reader
from catchment.formats.iceberg import manifest_reading
from catchment.formats.iceberg.metadata_reader import CATALOG
from catchment.formats.metadata_reading import Access, NeedsEngine
from catchment.formats.registry import open_metadata_reader, traits_of
from catchment.plan.model import Dataset
from catchment.project.model import Depot

ROWS = pa.table({"id": [7]})


def test_of_iceberg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uri = f"sqlite:///{tmp_path}/catalog.db"
    with closing(SqlCatalog("lake", uri=uri, warehouse=f"file://{tmp_path}")) as catalog:
        catalog.create_namespace("raw")
        catalog.create_table("raw.t", ROWS.schema).append(ROWS)
    settings = {"": CATALOG, ".type": "jdbc", ".uri": f"jdbc:sqlite:{tmp_path}/catalog.db"}
    access = Access({f"spark.sql.catalog.lake{key}": value for key, value in settings.items()})
    reader = open_metadata_reader(traits_of("iceberg"), Depot("lake", "iceberg", str(tmp_path)), access)
    table = Dataset("dataos://lake:raw/t", "lake", "iceberg", "raw", "t")
    assert reader.health(table, None, lambda: None).files == 1
    monkeypatch.setattr(manifest_reading, "MOST_BYTES", 100)
    with pytest.raises(NeedsEngine):
        reader.health(table, None, lambda: None)


def test_of_delta(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "raw" / "t"
    place.mkdir(parents=True)
    for _ in range(2):
        write_deltalake(place, ROWS, mode="append")
    reader = open_metadata_reader(traits_of("delta"), Depot("events", "delta", str(tmp_path)), Access())
    table = Dataset("dataos://events:raw/t", "events", "delta", "raw", "t", path=str(place))
    assert (reader.health(table, None, lambda: None).files, reader.head(table)) == (2, "1")
    monkeypatch.setattr(delta_reader, "MOST_FILES", 1)
    with pytest.raises(NeedsEngine):
        reader.health(table, None, lambda: None)

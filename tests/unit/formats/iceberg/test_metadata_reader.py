"""Which catalogs and tables of Iceberg are read without an engine."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from catchment.errors import JobError
from catchment.formats.iceberg.metadata_reader import CATALOG, IcebergReader, open_reader
from catchment.formats.metadata_reading import Access, NeedsEngine
from catchment.plan.model import Dataset
from catchment.project.model import Depot
from tests.unit.formats.iceberg import tables

TABLE = Dataset("dataos://lake:raw/t", "lake", "iceberg", "raw", "t")


def reader(**properties: str) -> IcebergReader:
    given = {f"spark.sql.catalog.lake.{key.replace('_', '-')}": value for key, value in properties.items()}
    return open_reader(Depot("lake", "iceberg", "/lake"), Access({"spark.sql.catalog.lake": CATALOG, **given}))


@pytest.fixture
def in_catalog(tmp_path: Path) -> IcebergReader:
    tables.make(tmp_path)
    return reader(type="jdbc", uri=f"jdbc:sqlite:{tmp_path}/catalog.db")


def test_a_catalog_of_an_earlier_form_and_metadata_without_refs(in_catalog: IcebergReader, tmp_path: Path) -> None:
    (tmp_path / "0.json").write_bytes(gzip.compress(json.dumps(tables.METADATA).encode()))
    found = in_catalog.inspect("table", TABLE)
    assert (found["rows"], found["branches"]) == (3, [{"name": "main", "snapshot_id": "7"}])
    assert [each["address"] for each in in_catalog.tables()] == ["dataos://lake:raw/t"]


def test_a_damaged_or_missing_file_is_for_an_engine(in_catalog: IcebergReader, tmp_path: Path) -> None:
    early = {key: value for key, value in tables.METADATA.items() if key != "schemas"}
    for text in ("{", json.dumps(early), None):
        (tmp_path / "0.json").write_text(text) if text else (tmp_path / "0.json").unlink()
        with pytest.raises(NeedsEngine):
            in_catalog.inspect("table", TABLE)


ZIPPED = gzip.compress(json.dumps(tables.METADATA).encode())


@pytest.mark.parametrize(
    "damaged",
    [ZIPPED[:20], ZIPPED[:2], ZIPPED[:-8] + b"12345678", ZIPPED[:10] + b"\xff" * 20],
    ids=["cut off", "only its beginning", "another checksum", "nonsense inside"],
)
def test_a_damaged_compressed_file_is_for_an_engine(damaged: bytes, in_catalog: IcebergReader, tmp_path: Path) -> None:
    earlier = {"metadata-file": f"{tmp_path}/earlier.json", "timestamp-ms": 1}
    (tmp_path / "0.json").write_text(json.dumps({**tables.METADATA, "metadata-log": [earlier]}))
    (tmp_path / "earlier.json").write_bytes(damaged)
    with pytest.raises(NeedsEngine):
        in_catalog.inspect("versions", TABLE)
    (tmp_path / "0.json").write_bytes(damaged)
    with pytest.raises(NeedsEngine):
        in_catalog.inspect("table", TABLE)


def test_a_damaged_file_of_an_earlier_version_is_for_an_engine(in_catalog: IcebergReader, tmp_path: Path) -> None:
    earlier = {"metadata-file": f"{tmp_path}/earlier.json", "timestamp-ms": 1}
    (tmp_path / "0.json").write_text(json.dumps({**tables.METADATA, "metadata-log": [earlier]}))
    assert [each["readable"] for each in in_catalog.inspect("versions", TABLE)["versions"]] == [False, True]
    (tmp_path / "earlier.json").write_text("{")
    with pytest.raises(NeedsEngine):
        in_catalog.inspect("versions", TABLE)


def test_without_a_catalog_there_is_no_table(tmp_path: Path) -> None:
    empty = reader(type="jdbc", uri=f"jdbc:sqlite:{tmp_path}/none.db")
    assert empty.tables() == []
    with pytest.raises(JobError) as caught:
        empty.inspect("table", TABLE)
    assert caught.value.code == "table-not-found"


@pytest.mark.parametrize(
    "properties",
    [
        {"type": "hive", "uri": "thrift://here:9083"},
        {"type": "hadoop"},
        {"catalog_impl": "org.example.Mine"},
        {"type": "jdbc", "uri": "jdbc:sqlite:/a.db", "io_impl": "org.example.Mine"},
        {"type": "rest", "uri": "http://127.0.0.1:1", "rest.auth.type": "google"},
        {"type": "rest", "uri": "http://127.0.0.1:1"},
    ],
)
def test_catalogs_that_only_an_engine_reads(properties: dict[str, str]) -> None:
    with pytest.raises(NeedsEngine):
        reader(**properties)

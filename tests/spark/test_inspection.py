"""What is said of a table without an engine is what the engine says."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests import both_ways
from tests.spark.inspecting import EVERYTHING, looked_at, refusal
from tests.spark.lake import LiveEngine, by, changing, files, table, writing

ROWS = (
    "SELECT id, concat('r', id % 3) AS region, id % 2 = 0 AS even, DATE '1969-12-30' + CAST(id AS INT) AS day, "
    "TIMESTAMP '1969-12-31 22:30:00' + make_interval(0, 0, 0, CAST(id AS INT)) AS at, "
    "CAST(CAST(id AS TIMESTAMP) AS TIMESTAMP_NTZ) AS local, CAST(id AS DECIMAL(10, 2)) / 4 AS price, "
    "X'00ff' AS raw, named_struct('a', id, 'b', array(map('k', id))) AS nested, at AS in_month, at AS in_year, "
    "at AS in_hour FROM range({}, {})"
)
BY = (
    *(
        "region",
        "even",
        "day",
        "days(at)",
        "months(in_month)",
        "years(in_year)",
        "hours(in_hour)",
        "bucket(3, id)",
        "local",
    ),
    *("price", "raw", "nested.a"),
)


@pytest.mark.slow
def test_a_table_with_every_kind_of_partition(engine: LiveEngine, fresh: str) -> None:
    place = table(fresh)
    engine.ask("CREATE NAMESPACE IF NOT EXISTS lake.raw")
    schema = (
        "id BIGINT NOT NULL COMMENT 'the key', region STRING, even BOOLEAN, day DATE, at TIMESTAMP, "
        "local TIMESTAMP_NTZ, price DECIMAL(16, 6), raw BINARY, "
        "nested STRUCT<a: BIGINT, b: ARRAY<MAP<STRING, BIGINT>>>, "
        "in_month TIMESTAMP, in_year TIMESTAMP, in_hour TIMESTAMP"
    )
    engine.ask(f"CREATE TABLE lake.raw.{fresh} ({schema}) USING iceberg PARTITIONED BY ({', '.join(BY)})")
    looked_at(engine, place, EVERYTHING)
    engine.ask(f"INSERT INTO lake.raw.{fresh} {ROWS.format(0, 7)}")
    engine.ask(f"INSERT INTO lake.raw.{fresh} SELECT 9{', null' * 11}")
    found = looked_at(engine, place, EVERYTHING)
    assert len(found["files"]["files"]) == 8
    assert found["table"]["columns"][0]["comment"] == "the key"


@pytest.mark.slow
def test_a_table_with_a_past(engine: LiveEngine, fresh: str) -> None:
    """Deletes that readers apply, another partitioning, branches, tags, a published version, a missing file."""
    place, name = table(fresh), f"lake.raw.{fresh}"
    engine.run(writing("SELECT id, id % 2 AS part FROM range(10)", place), run="r-1")
    for row_level in ("delete", "update", "merge"):
        engine.ask(f"ALTER TABLE {name} SET TBLPROPERTIES ('write.{row_level}.mode' = 'merge-on-read')")
    engine.change(changing(place, "set_version", value="latest"))
    engine.ask(f"DELETE FROM {name} WHERE id = 3")
    engine.ask(f"ALTER TABLE {name} ADD PARTITION FIELD part")
    engine.run(writing("SELECT id, id % 2 AS part FROM range(10, 14)", place, mode="append"), run="r-2")
    engine.change(changing(place, "branch_create", branch="audit"))
    engine.change(changing(place, "tag_create", tag="then"))
    engine.ask(f"CALL lake.system.rewrite_data_files(table => 'raw.{fresh}', options => map('rewrite-all', 'true'))")
    found = looked_at(engine, place, EVERYTHING)
    assert [each["name"] for each in found["table"]["branches"]] == ["audit", "main"]
    assert [each["published"] for each in found["versions"]["versions"]].count(True) == 1
    engine.ask(f"ALTER TABLE {name} SET TBLPROPERTIES ('write.metadata.previous-versions-max' = '1')")
    engine.ask(f"ALTER TABLE {name} SET TBLPROPERTIES ('write.metadata.compression-codec' = 'gzip')")
    engine.ask(f"ALTER TABLE {name} ADD COLUMN more STRING")
    found = looked_at(engine, place, EVERYTHING)
    assert found["versions"]["versions"][0]["published"]
    assert found["metadata"]["file"].endswith(".gz.metadata.json")


def test_format_version_3(engine: LiveEngine, fresh: str) -> None:
    place, name = table(fresh), f"lake.raw.{fresh}"
    properties = "'format-version' = '3', 'write.delete.mode' = 'merge-on-read'"
    engine.ask(f"CREATE TABLE {name} (id BIGINT) USING iceberg TBLPROPERTIES ({properties})")
    engine.ask(f"INSERT INTO {name} SELECT id FROM range(10)")
    engine.ask(f"DELETE FROM {name} WHERE id = 3")
    looked_at(engine, place, EVERYTHING)


def test_views_are_no_tables(engine: LiveEngine, fresh: str) -> None:
    engine.run(writing("SELECT 1 AS id", table(fresh)))
    engine.ask(f"CREATE VIEW lake.raw.v{fresh} AS SELECT * FROM lake.raw.{fresh}")
    looked_at(engine, table(fresh), ())
    assert refusal(engine, table(f"v{fresh}")) == "table-not-found"


def test_a_table_that_is_not_there(engine: LiveEngine, fresh: str) -> None:
    assert refusal(engine, table(fresh)) == "table-not-found"
    assert refusal(engine, table(fresh, namespace=fresh)) == "table-not-found"


def test_files(engine: LiveEngine, root: Path, fresh: str) -> None:
    """Sizes by directory; files of a write that is half published and hidden ones do not count."""
    place = files(root / "drop" / fresh, "parquet")
    rows = "SELECT id, IF(id = 0, null, concat('ä b/', id % 2)) AS part FROM range(5)"
    engine.run(writing(rows, place, partitions=(by("identity", "part"),)))
    stage = root / "drop" / ".catchment-stage" / f".{fresh}" / "r.j.out.0123"
    stage.mkdir(parents=True)
    for name in ("part-0-r.j.out.0123-1.parquet", ".hidden.parquet", "_SUCCESS"):
        (root / "drop" / fresh / name).write_text("not yet")
    found = both_ways.read_health(engine.plan, place, None)
    assert found == engine.health(place)
    assert {str(each.partition["part"]) for each in found.partitions if each.partition} == {"None", "ä b/0", "ä b/1"}
    shutil.rmtree(stage)

"""What is said of a Delta table without an engine is what the engine says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from catchment.formats.metadata_reading import NeedsEngine
from catchment.plan.model import Rewrite
from tests import both_ways
from tests.spark.inspecting import looked_at, refusal
from tests.spark.lake import LiveEngine, delta_depot, delta_table, writing

EVERYTHING = ("table", "snapshots", "files")
ROWS = (
    "SELECT id, concat('a b/', id) AS name, DATE '2024-01-01' + CAST(id AS INT) AS day, CAST(id AS INT) AS n, "
    "id = 1 AS one, CAST(1.5 AS DECIMAL(10, 2)) AS price, "
    "named_struct('a', id, 'b', array(map('k', id))) AS nested FROM range(3)"
)


@pytest.mark.slow
def test_a_table_with_partitions_and_a_past(engine: LiveEngine, root: Path, fresh: str) -> None:
    place = delta_table(fresh, root)
    schema = (
        "id BIGINT NOT NULL COMMENT 'the key', name STRING, day DATE, n INT, one BOOLEAN, "
        "price DECIMAL(10, 2), nested STRUCT<a: BIGINT, b: ARRAY<MAP<STRING, BIGINT>>>"
    )
    properties = "'a.b' = '1', 'delta.checkpointInterval' = '2', 'c' = '2'"
    engine.ask(
        f"CREATE TABLE {place.identifier} ({schema}) USING delta PARTITIONED BY (day, n, one, price) "
        f"TBLPROPERTIES ({properties})"
    )
    looked_at(engine, place, EVERYTHING)
    for _ in range(2):
        engine.ask(f"INSERT INTO {place.identifier} {ROWS}")
    engine.ask(f"INSERT INTO {place.identifier} SELECT 9{', null' * 6}")
    engine.run(writing(ROWS, place, mode="append"), run="r-7")
    engine.ask(f"DELETE FROM {place.identifier} WHERE id = 2")
    engine.maintain(place, Rewrite())
    found = looked_at(engine, place, EVERYTHING)
    assert found["table"]["columns"][6]["type"] == "struct<a:bigint,b:array<map<string,bigint>>>"
    assert [each["run_id"] for each in found["snapshots"]["snapshots"]].count("r-7") == 1
    assert list(found["table"]["properties"]) == ["a.b", "c", "delta.checkpointInterval"]


@pytest.mark.slow
def test_columns_with_other_names_in_files(engine: LiveEngine, root: Path, fresh: str) -> None:
    place = delta_table(fresh, root)
    mapped = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'delta.enableInCommitTimestamps' = 'true')"
    engine.ask(f"CREATE TABLE {place.identifier} (id BIGINT, part INT) USING delta PARTITIONED BY (part) {mapped}")
    engine.ask(f"INSERT INTO {place.identifier} SELECT id, id % 2 FROM range(4)")
    engine.ask(f"ALTER TABLE {place.identifier} RENAME COLUMN part TO piece")
    assert looked_at(engine, place, EVERYTHING)["table"]["partitions"][0]["name"] == "piece"


@pytest.mark.slow
@pytest.mark.exhaustive
def test_what_only_an_engine_can_tell(engine: LiveEngine, root: Path, fresh: str) -> None:
    """Deletion vectors are not counted by delta-rs, and some values are spelled in the log in several ways."""
    place = delta_table(fresh, root)
    vectors = "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
    engine.ask(f"CREATE TABLE {place.identifier} (id BIGINT) USING delta {vectors}")
    engine.ask(f"INSERT INTO {place.identifier} SELECT id FROM range(0, 9, 1, 1)")
    engine.ask(f"DELETE FROM {place.identifier} WHERE id = 3")
    looked_at(engine, place, EVERYTHING, health=False)
    timed = delta_table(f"{fresh}_timed", root)
    engine.ask(f"CREATE TABLE {timed.identifier} (id BIGINT, at TIMESTAMP) USING delta PARTITIONED BY (at)")
    engine.ask(f"INSERT INTO {timed.identifier} SELECT 1, TIMESTAMP '2024-01-01 01:02:03.5'")
    looked_at(engine, timed, EVERYTHING, health=False)
    for each in (place, timed):
        with pytest.raises(NeedsEngine):
            both_ways.read_health(engine.plan, each, None)
    assert engine.health(place).delete_files == 1


@pytest.mark.slow
def test_tables_of_a_depot_whose_location_looks_like_a_pattern(
    start_engine: Callable[..., LiveEngine], tmp_path: Path
) -> None:
    depot = delta_depot(tmp_path, "odd[1]{2,3}*")
    place = delta_table("t", tmp_path, depot.name)
    engine = start_engine(depot)
    engine.run(writing("SELECT 1 AS id", place, mode="append"))
    [found] = engine.inspect("tables", place)["tables"]
    assert (found["namespace"], found["table"]) == ("raw", "t")


def test_a_table_that_is_not_there(engine: LiveEngine, root: Path, fresh: str) -> None:
    place = delta_table(fresh, root)
    assert refusal(engine, place) == "table-not-found"
    Path(str(place.path), "_delta_log").mkdir(parents=True)
    assert refusal(engine, place) == "table-not-found"

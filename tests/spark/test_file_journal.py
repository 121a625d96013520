"""Writes of plain files through the journal: whole, once, side by side, and nothing of them seen before its time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from catchment.plan.model import Dataset, JobPlan
from catchment.project.model import Settings
from catchment.store import Store, open_store
from tests.concurrency.waiting import until
from tests.ledgers import Filled
from tests.spark.lake import LiveEngine, by, files, files_depot, job, lake_depot, output, step, writing

VALUES = """
SELECT * FROM VALUES
  (1, 'a b', date'2026-01-31', timestamp'2026-01-31 23:59:59.5'),
  (2, 'x/y:z=1%', date'2026-01-31', timestamp'2026-01-31 23:59:59.5'),
  (3, 'ünï ☃ {[^]}', date'1969-12-31', timestamp'0001-01-01 00:00:00'),
  (4, '..', CAST(NULL AS DATE), CAST(NULL AS TIMESTAMP)),
  (5, CAST(NULL AS STRING), date'2026-01-31', timestamp'2026-01-31 23:59:59.5'),
  (6, '_hidden', date'2026-01-31', timestamp'2026-01-31 23:59:59.5'),
  (7, '#?*"\\'\\\\', date'2026-01-31', timestamp'2026-01-31 23:59:59.5')
AS t(id, part, day, moment)
"""


@pytest.fixture
def store(root: Path) -> Iterator[Store]:
    """The metastore of the engines of this session."""
    with open_store(f"sqlite:///{root}/metastore.db") as store:
        yield store


def replacing(place: Dataset, mark: str, parts: str, mode: str = "overwrite-partitions", **more: Any) -> JobPlan:
    sql = f"SELECT id, '{mark}' AS mark, id % 3 AS part FROM range(9) WHERE id % 3 IN ({parts})"
    return writing(sql, place, name=mark, mode=mode, partitions=(by("identity", "part"),), **more)


def marks(engine: LiveEngine, path: Path) -> list[tuple[Any, ...]]:
    return engine.rows(f"SELECT part, mark, count(*) FROM parquet.`{path}` GROUP BY ALL ORDER BY ALL")


def visible(path: Path) -> list[str]:
    found = (file.relative_to(path) for file in path.rglob("*") if file.is_file())
    return sorted(str(file) for file in found if not any(part.startswith(".") for part in file.parts))


def test_partition_values_of_every_sort_come_back_and_are_replaced(
    engine: LiveEngine, fresh: str, tmp_path: Path
) -> None:
    place, spec = files(tmp_path / fresh, "parquet"), tuple(by("identity", name) for name in ("part", "day", "moment"))

    def write(sql: str, mode: str) -> int | None:
        return engine.run(writing(sql, place, mode=mode, partitions=spec))[0].rows

    def read() -> list[tuple[Any, ...]]:
        columns = "id, part, day, CAST(moment AS STRING)"
        return engine.rows(f"SELECT {columns} FROM parquet.`{tmp_path / fresh}` ORDER BY id")

    assert write(VALUES, "append") == 7
    first = read()
    assert [row[1] for row in first] == ["a b", "x/y:z=1%", "ünï ☃ {[^]}", "..", None, "_hidden", "#?*\"'\\"]
    assert first[3][2:] == (None, None)
    assert write(f"SELECT id + 10 AS id, part, day, moment FROM ({VALUES}) WHERE id <> 1", "overwrite-partitions") == 6
    assert read() == [first[0], *((row[0] + 10, *row[1:]) for row in first[1:])]
    assert len(visible(tmp_path / fresh)) == 7


def test_an_hour_that_comes_twice_shares_a_directory_and_loses_no_row(
    engine: LiveEngine, fresh: str, tmp_path: Path
) -> None:
    """Half past two in Berlin, before and after the clock was put back: two values, one directory, one task."""
    moments = "timestamp'2026-10-25 00:30:00Z', timestamp'2026-10-25 01:30:00Z'"
    sql = f"SELECT /*+ COALESCE(1) */ 1 AS id, explode(array({moments})) AS moment"
    out = output("rows", files(tmp_path / fresh, "parquet"), partitions=(by("identity", "moment"),))
    engine.run(job(out, steps=[step("rows", sql)], conf={"spark.sql.session.timeZone": "Europe/Berlin"}))
    assert engine.value(f"SELECT count(*) FROM parquet.`{tmp_path / fresh}`") == 2
    assert len({name.rpartition("/")[0] for name in visible(tmp_path / fresh)}) == 1


def test_columns_that_cannot_be_written(engine: LiveEngine, fresh: str, tmp_path: Path) -> None:
    place, spec = files(tmp_path / fresh, "parquet"), (by("identity", "part"),)
    assert engine.fail(writing("SELECT 1 AS part", place, partitions=spec)).code == "partition-invalid"
    assert engine.fail(writing("SELECT 1 AS id, 2 AS ID", place)).code == "column-twice"
    assert not (tmp_path / fresh).exists()


def test_each_output_replaces_in_its_own_way(engine: LiveEngine, fresh: str, tmp_path: Path) -> None:
    """Whatever the session says: how much is replaced is said by the output alone."""
    one, other, spec = files(tmp_path / "one", "parquet"), files(tmp_path / "other", "parquet"), (by("identity", "p"),)

    def both(values: str, setting: str) -> JobPlan:
        return job(
            output("rows", one, name="one", mode="overwrite-partitions", partitions=spec),
            output("rows", other, name="other", mode="overwrite", partitions=spec),
            steps=[step("rows", f"SELECT * FROM VALUES {values} AS t(id, p)")],
            conf={"spark.sql.sources.partitionOverwriteMode": setting},
        )

    engine.run(both("(1, 'a'), (2, 'b')", "dynamic"))
    engine.run(both("(3, 'b')", "dynamic"))
    engine.run(both("(4, 'c')", "static"))
    found = [engine.rows(f"SELECT * FROM parquet.`{tmp_path / name}` ORDER BY id") for name in ("one", "other")]
    assert found == [[(1, "a"), (3, "b"), (4, "c")], [(4, "c")]]


@pytest.mark.slow
def test_staged_files_are_not_seen_and_wait_their_turn(
    start_engine: Callable[..., LiveEngine], store: Store, root: Path, fresh: str, tmp_path: Path
) -> None:
    drop = tmp_path / "drop"
    place = files(drop / fresh, "parquet")
    busy = start_engine(lake_depot(root), files_depot(root), settings=Settings(max_pending=1))
    busy.run(replacing(place, "old", "0, 1, 2"))
    lease = store.leases.acquire(f"table/{place.target}", "somebody who takes his time", 600.0)
    sealed = busy.start_job(replacing(place, "new", "1"))
    _await_pending(Filled(store), place.target)
    same = replace(place, address="dataos://other:none/d")  # another way to the same place: the queue is one
    waiting = busy.start_job(replacing(same, "late", "2"))
    assert "max_pending is 1" in waiting.wait_for("warning").data["message"]
    assert len(list(drop.glob(f".catchment-stage/.{fresh}/*/part=1/*.parquet"))) > 0
    assert marks(busy, drop / fresh) == [(part, "old", 3) for part in range(3)]
    # Patterns match hidden names as well, DuckDB's at any depth; Spark looks into what its pattern has matched.
    assert busy.rows(f"SELECT DISTINCT mark FROM parquet.`{drop}/*`") == [("old",)]
    assert duckdb.sql(f"SELECT DISTINCT mark FROM '{drop / fresh}/**/*.parquet'").fetchall() == [("old",)]
    store.leases.release(lease)
    for each in (sealed, waiting):
        assert each.done()[0].rows == 3
    assert marks(busy, drop / fresh) == [(0, "old", 3), (1, "new", 3), (2, "late", 3)]


@pytest.mark.exhaustive
@pytest.mark.slow
def test_thousands_of_partitions(engine: LiveEngine, fresh: str, tmp_path: Path) -> None:
    place, spec = files(tmp_path / fresh, "parquet"), (by("identity", "part"),)

    def write(mark: str, rows: str) -> None:
        sql = f"SELECT /*+ REPARTITION(2, part) */ id AS part, '{mark}' AS mark FROM range({rows})"
        engine.run(writing(sql, place, mode="overwrite-partitions", partitions=spec))

    write("old", "3000")
    write("new", "2000, 3000")
    found = engine.rows(f"SELECT mark, count(*), count(DISTINCT part) FROM parquet.`{tmp_path / fresh}` GROUP BY mark")
    assert sorted(found) == [("new", 1000, 1000), ("old", 2000, 2000)]


def _await_pending(filled: Filled, target: str) -> None:
    until(lambda: filled.ledger.count_pending(target) >= 1)

"""Plain files in stores behind Hadoop: S3, where publishing copies, and a mounted file system, where it renames."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from catchment.plan.model import Dataset, JobPlan
from catchment.project.model import Depot
from tests.matrices import exhaustive
from tests.servers.s3 import SECRET
from tests.spark.lake import UNPREPARED, LiveEngine, by, writing
from tests.spark.test_file_journal import VALUES
from tests.stores.lakes import Lake

pytestmark = pytest.mark.slow


@pytest.fixture
def far(on_s3: Lake) -> LiveEngine:
    return on_s3.here


def at(depot: Depot, name: str) -> Dataset:
    return Dataset(f"dataos://{depot.name}:none/{name}", depot.name, "parquet", path=f"{depot.location}/{name}")


def on_disk(lake: Lake, depot: Depot, name: str) -> list[str]:
    """The objects and files of a dataset, wherever the store keeps them."""
    mount = next((target for target in depot.conf.values() if target.startswith("file:")), "").removeprefix("file://")
    place = Path(mount or lake.disk / depot.location.removeprefix("s3a://")) / name
    found = (file for file in place.rglob("*") if file.is_file() and not file.name.endswith(".crc"))
    return sorted(str(file.relative_to(place)) for file in found)


def marked(place: Dataset, mark: str, parts: int, first: int = 0, mode: str = "overwrite-partitions") -> JobPlan:
    rows = f"SELECT id, '{mark}' AS mark, id % {parts} AS part FROM range(0, {parts * 4}, 1, 2)"
    sql = f"SELECT * FROM ({rows}) WHERE part >= {first}"
    return writing(sql, place, name=mark, mode=mode, partitions=(by("identity", "part"),))


def marks(engine: LiveEngine, place: Dataset) -> list[tuple[Any, ...]]:
    sql = f"SELECT mark, count(*), count(DISTINCT id) FROM parquet.`{place.path}` GROUP BY mark ORDER BY mark"
    return engine.rows(sql)


@pytest.mark.parametrize("named", ["bucket", "mounted"])
def test_files_are_written_replaced_and_cleared_away(far: LiveEngine, on_s3: Lake, fresh: str, named: str) -> None:
    depot = on_s3.depot(named)
    place, spec = at(depot, fresh), tuple(by("identity", name) for name in ("part", "day", "moment"))

    def write(sql: str, mode: str) -> None:
        far.run(writing(sql, place, mode=mode, partitions=spec))

    def ids() -> list[tuple[Any, ...]]:
        return far.rows(f"SELECT id, part FROM parquet.`{place.path}` ORDER BY id")

    write(VALUES, "append")
    first = ids()
    assert len(first) == 7
    write(f"SELECT id + 10 AS id, part, day, moment FROM ({VALUES}) WHERE id IN (2, 3, 5)", "overwrite-partitions")
    assert ids() == sorted((id + 10 if id in (2, 3, 5) else id, part) for id, part in first)
    write(f"SELECT * FROM ({VALUES}) WHERE id = 3", "append")
    assert [id for id, _ in ids()] == [1, 3, 4, 6, 7, 12, 13, 15]
    write(f"SELECT * FROM ({VALUES}) WHERE id = 2", "overwrite")
    assert ids() == [(2, "x/y:z=1%")]
    [left] = on_disk(on_s3, depot, fresh)
    assert left.startswith("part=x%2Fy%3Az%3D1%25/day=2026-01-31/moment=")


def test_a_partition_of_many_files_and_many_partitions(far: LiveEngine, on_s3: Lake, fresh: str) -> None:
    place = at(on_s3.depot("bucket"), fresh)
    far.run(marked(place, "old", 40))
    far.run(marked(place, "new", 40, first=10))
    assert marks(far, place) == [("new", 120, 120), ("old", 40, 40)]
    assert len(on_disk(on_s3, on_s3.depot("bucket"), fresh)) == 80


def test_a_store_that_removes_one_object_with_each_request(far: LiveEngine, on_s3: Lake, fresh: str) -> None:
    place = at(on_s3.depot("single"), fresh)
    for mark in ("old", "new"):
        far.run(marked(place, mark, 1, mode="overwrite"))
    assert marks(far, place) == [("new", 4, 4)]
    assert len(on_disk(on_s3, on_s3.depot("single"), fresh)) == 2


@pytest.mark.exhaustive
def test_a_file_where_a_directory_has_to_be_stops_one_write_only(far: LiveEngine, on_s3: Lake, fresh: str) -> None:
    depot = on_s3.depot("mounted")
    place, mount = at(depot, fresh), Path(next(iter(depot.conf.values())).removeprefix("file://"))
    in_the_way = mount / fresh / "part=2"
    in_the_way.parent.mkdir()
    in_the_way.write_text("mine")
    run = f"r-{fresh}"
    failed = far.fail(marked(place, "stopped", 3), run=run)
    assert (failed.code, failed.retryable, "nothing was published" in failed.message) == (
        "write-set-aside",
        False,
        True,
    )
    far.run(marked(place, "later", 2))
    in_the_way.unlink()
    far.run(marked(place, "stopped", 3), run=run, number=2)  # a job that is run again puts its write into the queue
    assert marks(far, place) == [("stopped", 12, 12)]


@pytest.mark.parametrize(
    ("named", "point"),
    [
        *(("bucket", "partition-published"), ("mounted", "old-removed")),
        *exhaustive(*product(("bucket",), ("planned", "old-removed", "stage-cleared"))),
        *exhaustive(*product(("mounted",), ("planned", "partition-published", "stage-cleared"))),
    ],
)
def test_killed_while_publishing_it_is_rolled_forward(
    far: LiveEngine, on_s3: Lake, tmp_path: Path, fresh: str, named: str, point: str
) -> None:
    depot = on_s3.depot(named)
    place = at(depot, fresh)
    far.run(marked(place, "old", 3))
    on_s3.kill(point, marked(place, "new", 3, first=1), run=f"r-{fresh}", logs=tmp_path)
    [done] = far.recover(place)
    assert done["published"] == [f"r-{fresh}/new/out"]
    far.run(marked(place, "new", 3, first=1), run=f"r-{fresh}", number=2)
    assert marks(far, place) == [("new", 8, 8), ("old", 4, 4)]
    assert len(on_disk(on_s3, depot, fresh)) == 6


@pytest.mark.parametrize(
    ("named", "point"),
    [
        *(("bucket", "stage-cleared"), ("mounted", "partition-published")),
        *exhaustive(("bucket", "partition-published"), ("mounted", "stage-cleared")),
    ],
)
def test_killed_while_publishing_and_lost_by_the_metastore_it_is_finished_by_whoever_runs_it_again(
    far: LiveEngine, on_s3: Lake, tmp_path: Path, fresh: str, named: str, point: str
) -> None:
    place = at(on_s3.depot(named), fresh)
    far.run(marked(place, "old", 3))
    on_s3.kill(point, marked(place, "new", 3, first=1), run=f"r-{fresh}", logs=tmp_path)
    with on_s3.ledger() as filled:
        filled.lose(f"r-{fresh}/new/out")
    far.run(marked(place, "late", 3, first=2, mode="append"))
    far.run(marked(place, "new", 3, first=1), run=f"r-{fresh}", number=2)
    assert marks(far, place) == [("late", 4, 4), ("new", 8, 8), ("old", 4, 4)]


@pytest.mark.exhaustive
def test_an_older_spark_renames_objects_and_shares_the_journal(
    far: LiveEngine, on_s3: Lake, start_java: Callable[..., LiveEngine], fresh: str
) -> None:
    place = at(on_s3.depot("bucket"), fresh)
    depots = (on_s3.depot("lake"), on_s3.depot("bucket"))
    older = start_java(*depots, spark="3.5", conf=UNPREPARED, metastore=on_s3.metastore, secrets=(SECRET,))
    older.ready(patience=280)
    older.run(marked(place, "old", 3))
    far.run(marked(place, "new", 3, first=1))
    older.run(marked(place, "last", 3, first=2))
    assert marks(far, place) == [("last", 4, 4), ("new", 4, 4), ("old", 4, 4)]
    assert len(on_disk(on_s3, on_s3.depot("bucket"), fresh)) == 6

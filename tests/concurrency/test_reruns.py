"""A job dies in mid-write and is run again: what Spark's own writers of files leave, and what the journal leaves."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from catchment.errors import EngineLost
from catchment.plan.model import Dataset, JobPlan
from catchment.project.model import Depot
from tests.concurrency.waiting import worker_of
from tests.servers import s3
from tests.servers.s3 import S3Server
from tests.spark.lake import LiveEngine, by, files, lake_depot, writing

ROWS = "SELECT id, id % 2 AS campaign, '{mark}' AS mark FROM range(0, 10, 1, 5)"
FAILING = (
    ROWS + " UNION ALL SELECT IF(id > 10, raise_error('lost the connection'), id), id % 2, '{mark}'"
    " FROM range(10, 12, 1, 1)"
)
"""Five tasks end well; the sixth, for which one of two cores must be free first, writes a row and fails."""


def catchment(place: Dataset, sql: str, mode: str) -> JobPlan:
    return writing(sql, place, name="load", mode=mode, partitions=(by("identity", "campaign"),))


@pytest.fixture
def sparks(engine: LiveEngine, fresh: str, tmp_path: Path) -> str:
    """A directory that Spark's own writer writes."""
    engine.rows(
        f"CREATE TABLE {fresh} (id BIGINT, mark STRING, campaign BIGINT) USING parquet PARTITIONED BY (campaign) "
        f"OPTIONS ('mapreduce.fileoutputcommitter.algorithm.version' = '2') LOCATION '{tmp_path / 'sparks'}'"
    )
    return fresh


def seen(engine: LiveEngine, path: Path) -> dict[str, int]:
    """How many rows there are of each mark."""
    if not any(path.rglob("[!._]*.parquet")):
        return {}
    return dict(engine.rows(f"SELECT mark, count(*) FROM parquet.`{path}` GROUP BY mark"))


def into(table: str, sql: str, how: str = "INTO") -> str:
    return f"INSERT {how} {table} SELECT id, mark, campaign FROM ({sql})"


@pytest.mark.slow
def test_an_append_that_failed_and_is_run_again(engine: LiveEngine, sparks: str, fresh: str, tmp_path: Path) -> None:
    rows, failing = ROWS.format(mark="new"), FAILING.format(mark="new")
    engine.refused_query(into(sparks, failing), write=True)
    [part] = seen(engine, tmp_path / "sparks").values()  # of a write that failed
    engine.rows(into(sparks, rows))
    assert seen(engine, tmp_path / "sparks") == {"new": part + 10}  # and twice, once it was run again

    ours = files(tmp_path / fresh, "parquet")
    engine.fail(catchment(ours, failing, "append"), run=f"r-{fresh}")
    assert seen(engine, tmp_path / fresh) == {}
    engine.run(catchment(ours, rows, "append"), run=f"r-{fresh}", number=2)
    engine.run(catchment(ours, rows, "append"), run=f"r-{fresh}", number=3)
    assert seen(engine, tmp_path / fresh) == {"new": 10}


def test_a_full_overwrite_that_failed(engine: LiveEngine, sparks: str, fresh: str, tmp_path: Path) -> None:
    old, failing = ROWS.format(mark="old"), FAILING.format(mark="new")
    engine.rows(into(sparks, old))
    engine.refused_query(into(sparks, failing, "OVERWRITE"), write=True)
    assert "old" not in seen(engine, tmp_path / "sparks")  # removed before the first new row was written

    ours = files(tmp_path / fresh, "parquet")
    engine.run(catchment(ours, old, "append"))
    engine.fail(catchment(ours, failing, "overwrite"), run=f"r-{fresh}")
    assert seen(engine, tmp_path / fresh) == {"old": 10}


@pytest.mark.slow
def test_a_loop_over_partitions_that_failed(engine: LiveEngine, fresh: str, tmp_path: Path) -> None:
    old, sparks = ROWS.format(mark="old"), tmp_path / "loop"
    for mark, sql in (("old", old), ("new", FAILING.format(mark="new"))):
        for campaign in (0, 1):
            part = f"SELECT id, mark FROM ({sql}) WHERE campaign = {campaign}"
            loop = f"INSERT OVERWRITE DIRECTORY '{sparks}/campaign={campaign}' USING parquet {part}"
            if mark == "old" or campaign == 0:
                engine.rows(loop)
            else:
                engine.refused_query(loop, write=True)
    assert set(seen(engine, sparks)) <= {"new"}  # one campaign is new, the other one is gone

    ours = files(tmp_path / fresh, "parquet")
    engine.run(catchment(ours, old, "append"))
    engine.fail(catchment(ours, FAILING.format(mark="new"), "overwrite-partitions"))
    assert seen(engine, tmp_path / fresh) == {"old": 10}


@pytest.fixture
def slow_store(tmp_path: Path) -> Iterator[S3Server]:
    """An S3 server that takes its time, so that a kill can come between two of its requests."""
    server = s3.start(s3.jar(), tmp_path / "s3", latency_ms=100)
    yield server
    server.stop()


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_dynamic_overwrite_killed_when_the_first_old_file_is_gone(
    start_java: Callable[..., LiveEngine], slow_store: S3Server, tmp_path: Path
) -> None:
    depots = (lake_depot(tmp_path), Depot("bucket", "files", "s3a://lake/drop", conf=slow_store.spark_conf()))
    data = tmp_path / "s3" / "data" / "lake" / "drop"
    ours = Dataset("dataos://bucket:none/ours", "bucket", "parquet", path="s3a://lake/drop/ours")
    old, new = (f"SELECT /*+ COALESCE(1) */ * FROM ({ROWS.format(mark=mark)})" for mark in ("old", "new"))

    victim = start_java(*depots, key="victim")
    victim.rows(
        "CREATE TABLE t (id BIGINT, mark STRING, campaign BIGINT) USING parquet PARTITIONED BY (campaign) "
        "OPTIONS (partitionOverwriteMode 'dynamic') LOCATION 's3a://lake/drop/sparks'"
    )
    victim.rows(into("t", old))
    victim.run(catchment(ours, old, "append"))
    before = {name: files_of(data / name) for name in ("sparks", "ours")}
    assert [len(found) for found in before.values()] == [2, 2]
    asked = victim.start_query(into("t", new, "OVERWRITE"))
    kill_when_gone(victim, before["sparks"])
    assert isinstance(asked.answer(), EngineLost)
    emptied = [file.parent for file in before["sparks"] if not files_of(file.parent)]
    assert len(emptied) == 1  # its old rows are gone, its new ones are not there, and nobody will bring them

    victim = start_java(*depots, key="another-victim")
    victim.ready()
    pending = victim.start_job(catchment(ours, new, "overwrite-partitions"), run="r")
    kill_when_gone(victim, before["ours"])
    assert isinstance(pending.answer(), EngineLost)
    assert [file.parent for file in before["ours"] if not files_of(file.parent)] == []

    survivor = start_java(*depots, key="survivor")
    survivor.run(catchment(ours, new, "overwrite-partitions"), run="r", number=2)
    found = survivor.rows("SELECT campaign, mark, count(*) FROM parquet.`s3a://lake/drop/ours` GROUP BY ALL ORDER BY 1")
    assert found == [(0, "new", 5), (1, "new", 5)]


def files_of(place: Path) -> list[Path]:
    found = (file for file in place.rglob("part-*.parquet"))
    return sorted(file for file in found if not any(part.startswith(".") for part in file.relative_to(place).parts))


def kill_when_gone(engine: LiveEngine, old: list[Path]) -> None:
    """End an engine at the moment at which the first of some files is gone."""
    deadline = time.monotonic() + 120
    while all(file.exists() for file in old):
        assert time.monotonic() < deadline
        time.sleep(0.005)
    os.killpg(os.getpgid(worker_of(engine)), signal.SIGKILL)

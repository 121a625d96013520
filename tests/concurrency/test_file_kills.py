"""An engine killed at every point of publishing plain files: no partition is ever without its rows, nothing twice."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from catchment.errors import EngineLost
from catchment.plan.model import Dataset, JobPlan
from catchment.store import open_store
from tests.concurrency.waiting import await_sleep, worker_of
from tests.ledgers import Filled, forget_engine
from tests.spark.lake import LiveEngine, by, files, files_depot, lake_depot, writing

Start = Callable[..., LiveEngine]

BEFORE_SEAL = ("before-data-written", "data-written", "before-sealed")
AFTER_SEAL = (
    *("sealed", "lease-taken", "planned", "partition-published", "old-removed", "stage-cleared"),
    *("before-marked", "marked"),
)
QUICK = {"before-sealed", "partition-published", "stage-cleared"}
OLD = [(part, "old", 4) for part in range(3)]


def points(*names: str) -> list[object]:
    return [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in names]


@pytest.fixture
def filled(root: Path) -> Iterator[Filled]:
    with open_store(f"sqlite:///{root}/metastore.db") as store:
        yield Filled(store)


@pytest.fixture
def place(tmp_path: Path, fresh: str) -> Dataset:
    return files(tmp_path / f"files-{fresh}", "parquet")


def writing_parts(place: Dataset, mark: str, parts: str, mode: str = "overwrite-partitions") -> JobPlan:
    sql = f"SELECT id, '{mark}' AS mark, id % 3 AS part FROM range(0, 12, 1, 2) WHERE id % 3 IN ({parts})"
    return writing(sql, place, name=mark, mode=mode, partitions=(by("identity", "part"),))


def killed(start: Start, root: Path, point: str, job: JobPlan, run: str) -> None:
    victim = start(lake_depot(root), files_depot(root), key="victim", fault=f"{point}:kill")
    assert isinstance(victim.start_job(job, run=run).answer(), EngineLost)


def marks(engine: LiveEngine, place: Dataset) -> list[tuple[Any, ...]]:
    return engine.rows(f"SELECT part, mark, count(*) FROM parquet.`{place.path}` GROUP BY ALL ORDER BY ALL")


def stages(place: Dataset) -> list[Path]:
    return list(Path(str(place.path)).glob(".catchment-stage/*"))


@pytest.mark.parametrize("point", points(*BEFORE_SEAL))
def test_killed_before_the_seal_nothing_has_changed_and_the_stage_goes(
    engine: LiveEngine, root: Path, start_engine: Start, filled: Filled, place: Dataset, point: str
) -> None:
    run = f"r-{Path(str(place.path)).name}"
    engine.run(writing_parts(place, "old", "0, 1, 2"))
    killed(start_engine, root, point, writing_parts(place, "new", "1, 2"), run)
    assert marks(engine, place) == OLD
    forget_engine(filled.store, filled.find(f"{run}/new/out").intent.owner)
    [done] = engine.recover(place)
    assert (done["abandoned"], done["published"], done["error"]) == ([f"{run}/new/out"], [], None)
    assert stages(place) == []
    engine.run(writing_parts(place, "new", "1, 2"), run=run, number=2)
    assert marks(engine, place) == [(0, "old", 4), (1, "new", 4), (2, "new", 4)]


@pytest.mark.parametrize("point", points(*AFTER_SEAL))
def test_killed_after_the_seal_the_next_writer_rolls_it_forward_and_running_again_changes_nothing(
    engine: LiveEngine, root: Path, start_engine: Start, place: Dataset, point: str
) -> None:
    run = f"r-{Path(str(place.path)).name}"
    engine.run(writing_parts(place, "old", "0, 1, 2"))
    killed(start_engine, root, point, writing_parts(place, "new", "1, 2"), run)
    seen = marks(engine, place)
    for part in range(3):  # whole in the old state or in the new one; plain files may for a while show both
        assert {(part, mark, 4) for mark in ("old", "new")} & set(seen)
    assert {rows for _, _, rows in seen} == {4}
    engine.run(writing_parts(place, "late", "2", mode="append"))
    expected = [(0, "old", 4), (1, "new", 4), (2, "late", 4), (2, "new", 4)]
    assert marks(engine, place) == expected
    before = sorted(Path(str(place.path)).rglob("*.parquet"))
    [report] = engine.run(writing_parts(place, "new", "1, 2"), run=run, number=2)
    assert report.rows == 8
    assert sorted(Path(str(place.path)).rglob("*.parquet")) == before
    assert (marks(engine, place), stages(place)) == (expected, [])


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_recovery_and_a_run_that_is_resumed_roll_forward_as_well(
    engine: LiveEngine, root: Path, start_engine: Start, place: Dataset, mode: str
) -> None:
    run = f"r-{Path(str(place.path)).name}"
    engine.run(writing_parts(place, "old", "0, 1, 2"))
    killed(start_engine, root, "partition-published", writing_parts(place, "new", "1, 2", mode=mode), run)
    if mode == "append":
        [done] = engine.recover(place)
        assert done["published"] == [f"{run}/new/out"]
        expected = [(0, "old", 4), (1, "new", 4), (1, "old", 4), (2, "new", 4), (2, "old", 4)]
    else:
        expected = [(1, "new", 4), (2, "new", 4)]
    engine.run(writing_parts(place, "new", "1, 2", mode=mode), run=run, number=2)
    assert marks(engine, place) == expected


@pytest.mark.slow
@pytest.mark.parametrize("point", ["planned", "partition-published", "old-removed"])
def test_a_publisher_that_slept_past_its_lease_disturbs_nobody(
    engine: LiveEngine, root: Path, start_engine: Start, place: Dataset, point: str
) -> None:
    engine.run(writing_parts(place, "old", "0, 1, 2"))
    sleeper = start_engine(lake_depot(root), files_depot(root), key="sleeper", fault=f"{point}:stop")
    sleeper.ready()
    sleeping = sleeper.start_job(writing_parts(place, "slept", "1, 2"))
    await_sleep(worker_of(sleeper))
    engine.run(writing_parts(place, "awake", "2"))
    os.kill(worker_of(sleeper), signal.SIGCONT)
    assert sleeping.done()[0].rows == 8
    assert marks(engine, place) == [(0, "old", 4), (1, "slept", 4), (2, "awake", 4)]

"""Publishers of plain files that are killed or stopped: others finish for them; the contract has every point."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from catchment.engine.protocol import Facts
from catchment.errors import EngineLost
from catchment.plan.model import Dataset, JobPlan, Rewrite
from tests.concurrency.waiting import await_sleep, worker_of
from tests.ledgers import Filled, end_leases
from tests.matrices import exhaustive
from tests.spark.lake import LiveEngine, by, files, files_depot, lake_depot, writing

Start = Callable[..., LiveEngine]
LOST = tuple(
    product(("planned", "partition-published", "stage-cleared"), ("append", "overwrite", "overwrite-partitions"))
)
"""What the metastore loses, and when."""
OFTEN = (LOST[0], LOST[4], LOST[8])
"""Of these, each moment and each mode once."""
KILLS = ("data-written", "partition-published", "before-marked")
OTHER_KILLS = ("sealed", "planned", "old-removed", "stage-cleared")


@pytest.fixture
def place(tmp_path: Path, fresh: str) -> Dataset:
    return files(tmp_path / f"files-{fresh}", "parquet")


def writing_parts(place: Dataset, mark: str, parts: str, mode: str = "overwrite-partitions") -> JobPlan:
    sql = f"SELECT id, '{mark}' AS mark, id % 3 AS part FROM range(0, 12, 1, 2) WHERE id % 3 IN ({parts})"
    return writing(sql, place, name=mark, mode=mode, partitions=(by("identity", "part"),))


def killed(start: Start, root: Path, filled: Filled, point: str, job: JobPlan, run: str) -> None:
    victim = start(lake_depot(root), files_depot(root), key="victim", fault=f"{point}:kill")
    assert isinstance(victim.start_job(job, run=run).answer(), EngineLost)
    end_leases(filled.store, worker_of(victim))


def marks(engine: LiveEngine, place: Dataset) -> list[tuple[Any, ...]]:
    return engine.rows(f"SELECT part, mark, count(*) FROM parquet.`{place.path}` GROUP BY ALL ORDER BY ALL")


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["overwrite", *exhaustive("append")])
def test_recovery_and_a_run_that_is_resumed_roll_forward_as_well(
    engine: LiveEngine, root: Path, filled: Filled, start_engine: Start, place: Dataset, mode: str
) -> None:
    run = f"r-{Path(str(place.path)).name}"
    engine.run(writing_parts(place, "old", "0, 1, 2"))
    killed(start_engine, root, filled, "partition-published", writing_parts(place, "new", "1, 2", mode=mode), run)
    if mode == "append":
        [done] = engine.recover(place)
        assert done["published"] == [f"{run}/new/out"]
        expected = [(0, "old", 4), (1, "new", 4), (1, "old", 4), (2, "new", 4), (2, "old", 4)]
    else:
        expected = [(1, "new", 4), (2, "new", 4)]
    engine.run(writing_parts(place, "new", "1, 2", mode=mode), run=run, number=2)
    assert marks(engine, place) == expected


@pytest.mark.slow
@pytest.mark.parametrize("point", ["old-removed", *exhaustive("partition-published")])
def test_a_publisher_that_slept_past_its_lease_disturbs_nobody(
    engine: LiveEngine, root: Path, filled: Filled, start_engine: Start, place: Dataset, point: str
) -> None:
    engine.run(writing_parts(place, "old", "0, 1, 2"))
    sleeper = start_engine(lake_depot(root), files_depot(root), key="sleeper", fault=f"{point}:stop")
    sleeper.ready()
    sleeping = sleeper.start_job(writing_parts(place, "slept", "1, 2"))
    await_sleep(worker_of(sleeper))
    end_leases(filled.store, worker_of(sleeper))
    engine.run(writing_parts(place, "awake", "2"))
    os.kill(worker_of(sleeper), signal.SIGCONT)
    assert sleeping.done()[0].rows == 8
    assert marks(engine, place) == [(0, "old", 4), (1, "slept", 4), (2, "awake", 4)]


@pytest.mark.slow
@pytest.mark.parametrize(("point", "mode"), [*OFTEN, *exhaustive(*(each for each in LOST if each not in OFTEN))])
def test_what_a_lost_ledger_does_not_know_is_finished_once_and_takes_nothing_from_later_writes(
    engine: LiveEngine, root: Path, filled: Filled, start_engine: Start, place: Dataset, point: str, mode: str
) -> None:
    run, new = f"r-{Path(str(place.path)).name}", writing_parts(place, "new", "1, 2", mode=mode)
    engine.run(writing_parts(place, "old", "0, 1, 2"))
    killed(start_engine, root, filled, point, new, run)
    filled.lose(f"{run}/new/out")
    engine.run(writing_parts(place, "late", "2", mode="append"))
    [report] = engine.run(new, run=run, number=2)
    assert report.rows == 8
    old = {"append": [(0, "old", 4), (1, "old", 4), (2, "old", 4)], "overwrite-partitions": [(0, "old", 4)]}
    assert marks(engine, place) == sorted([*old.get(mode, []), (1, "new", 4), (2, "new", 4), (2, "late", 4)])


@pytest.mark.slow
def test_an_acknowledged_write_that_the_ledger_lost_is_not_written_again(
    engine: LiveEngine, filled: Filled, place: Dataset
) -> None:
    for mode in ("append", "overwrite-partitions"):
        for number in (1, 2):
            engine.run(writing_parts(place, mode, "1", mode=mode), run=f"r-{place.address}", number=number)
            filled.lose(f"r-{place.address}/{mode}/out")
        engine.run(writing_parts(place, "late", "1", mode="append"), run=f"r-{place.address}-{mode}")
        engine.run(writing_parts(place, mode, "1", mode=mode), run=f"r-{place.address}", number=3)
    assert marks(engine, place) == [(1, "late", 4), (1, "overwrite-partitions", 4)]


@pytest.mark.slow
@pytest.mark.parametrize("point", [*KILLS, *exhaustive(*OTHER_KILLS)])
def test_a_compaction_that_is_killed_loses_and_doubles_nothing(
    engine: LiveEngine, root: Path, filled: Filled, start_engine: Start, place: Dataset, point: str
) -> None:
    for mark in "abcde":
        engine.run(writing_parts(place, mark, "0, 1", mode="append"))
    victim = start_engine(lake_depot(root), files_depot(root), key="victim", fault=f"{point}:kill")
    killed = victim.start_maintenance(place, Rewrite(properties={"min-input-files": "2"})).answer()
    assert isinstance(killed, EngineLost)
    end_leases(filled.store, worker_of(victim))
    engine.run(writing_parts(place, "late", "0", mode="append"))  # whoever comes next finishes
    every = sorted([(part, mark, 4) for mark in "abcde" for part in (0, 1)] + [(0, "late", 4)])
    assert marks(engine, place) == every
    engine.maintain(place, Rewrite(properties={"rewrite-all": "true"}))
    assert marks(engine, place) == every
    assert len(list(Path(str(place.path)).rglob("*.parquet"))) == 2
    stages = list(Path(str(place.path)).parent.glob(f".catchment-stage/.{Path(str(place.path)).name}/*"))
    assert len(stages) == (1 if point == "data-written" else 0)  # until its engine is known to be gone


@pytest.mark.slow
def test_what_is_appended_or_replaced_during_a_compaction_counts(
    engine: LiveEngine, root: Path, start_engine: Start, place: Dataset
) -> None:
    for mark in "abcde":
        engine.run(writing_parts(place, mark, "0, 1", mode="append"))
    slow = start_engine(lake_depot(root), files_depot(root), key="slow", fault="data-written:stop")
    slow.ready()
    compacting = slow.start_maintenance(place, Rewrite())
    await_sleep(worker_of(slow))
    engine.run(writing_parts(place, "late", "0", mode="append"))
    engine.run(writing_parts(place, "new", "0, 1"))
    engine.run(writing_parts(place, "later", "0", mode="append"))
    os.kill(worker_of(slow), signal.SIGCONT)
    done = compacting.answer()
    assert isinstance(done, Facts)
    assert marks(engine, place) == [(0, "later", 4), (0, "new", 4), (1, "new", 4)]

"""Writes that their engine commits alone: one that was suspended before its commit and comes back commits nothing."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from catchment.plan.model import Dataset, JobPlan
from tests.concurrency.waiting import await_sleep, worker_of
from tests.ledgers import Filled, end_leases
from tests.spark.lake import LiveEngine, by, delta_depot, delta_table, lake_depot, merging, table, writing

Start = Callable[..., LiveEngine]
ROWS = "SELECT id, id % 2 AS part FROM range(10)"
NEVER, INSERT = "old.id = new.id AND old.id < 0", "NOT MATCHED THEN INSERT *"


def directly(target: Dataset, mode: str) -> JobPlan:
    return writing(ROWS, target, mode=mode, commit="direct", partitions=(by("identity", "part"),))


def overtaken(
    engine: LiveEngine, sleeper: LiveEngine, filled: Filled, work: JobPlan, run: str, meanwhile: JobPlan
) -> tuple[int | None, ...]:
    """Suspend a write before its commit, let another engine finish it and write more, and wake the first one."""
    sleeper.ready()
    sleeping = sleeper.start_job(work, run=run)
    await_sleep(worker_of(sleeper))
    end_leases(filled.store, worker_of(sleeper))
    try:
        [done] = engine.run(work, run=run, number=2)
        engine.run(meanwhile)
    finally:
        os.kill(worker_of(sleeper), signal.SIGCONT)
    [woken] = sleeping.done()
    assert woken.snapshot_id == done.snapshot_id
    return done.rows, woken.rows


@pytest.mark.parametrize(
    ("mode", "fault"),
    [
        ("append", "before-own-commit"),
        ("overwrite-partitions", "before-own-commit"),
        ("overwrite", "before-own-commit"),
        ("append", "history-searched"),
    ],
)
@pytest.mark.slow
def test_a_direct_commit(
    engine: LiveEngine, root: Path, filled: Filled, start_engine: Start, fresh: str, mode: str, fault: str
) -> None:
    engine.run(directly(table(fresh), "append"))
    sleeper = start_engine(lake_depot(root), key="sleeper", fault=f"{fault}:stop")
    late = writing("SELECT 100L AS id, 0L AS part", table(fresh), mode="append")
    assert overtaken(engine, sleeper, filled, directly(table(fresh), mode), f"r-{fresh}", late) == (10, 10)
    assert engine.value(f"SELECT count(*) FROM lake.raw.{fresh}") == (21 if mode == "append" else 11)


@pytest.mark.slow
def test_a_merge_that_only_inserts(
    engine: LiveEngine, root: Path, filled: Filled, start_engine: Start, fresh: str
) -> None:
    engine.run(directly(table(fresh), "append"))
    sleeper = start_engine(lake_depot(root), key="sleeper", fault="before-own-commit:stop")
    late, work = (merging(ROWS, table(fresh), NEVER, INSERT, name=name) for name in ("late", "job"))
    assert overtaken(engine, sleeper, filled, work, f"r-{fresh}", late) == (10, 10)
    assert engine.value(f"SELECT count(*) FROM lake.raw.{fresh}") == 30


@pytest.mark.slow
def test_files_of_the_attempt_that_came_too_late_are_removed(
    engine: LiveEngine, root: Path, filled: Filled, start_engine: Start, fresh: str
) -> None:
    sleeper = start_engine(lake_depot(root), key="sleeper", fault="before-own-commit:stop")
    late = writing("SELECT 100L AS id, 0L AS part", table(fresh), mode="append")
    overtaken(engine, sleeper, filled, directly(table(fresh), "append"), f"r-{fresh}", late)
    live = engine.value(f"SELECT count(*) FROM lake.raw.{fresh}.files")
    assert len(list((root / "lake").glob(f"**/{fresh}/data/**/*.parquet"))) == live


@pytest.mark.slow
@pytest.mark.exhaustive
def test_an_older_spark_fences_too(engine: LiveEngine, root: Path, start_spark_3: Start, fresh: str) -> None:
    older = start_spark_3(lake_depot(root))
    engine.run(directly(table(fresh), "append"))
    rows = f"SELECT id + 5 AS id, part FROM ({ROWS})"
    assert older.run(merging(rows, table(fresh), "old.id = new.id", INSERT))[0].rows == 5
    assert older.run(directly(table(fresh), "overwrite"))[0].rows == 10
    assert older.value(f"SELECT count(*) FROM lake.raw.{fresh}") == 10


@pytest.mark.parametrize(("how", "fault"), [("append", "before-swap"), ("merge", "before-own-commit")])
@pytest.mark.slow
def test_a_delta_table(
    engine: LiveEngine, root: Path, filled: Filled, start_engine: Start, fresh: str, how: str, fault: str
) -> None:
    target = delta_table(fresh, root)
    engine.run(writing(ROWS, target, mode="append"))
    sleeper = start_engine(delta_depot(root), key="sleeper", fault=f"{fault}:stop")
    merge = merging(ROWS, target, NEVER, INSERT)
    work = merge if how == "merge" else writing(ROWS, target, mode="append")
    late = writing(ROWS, target, mode="append", name="late")
    assert overtaken(engine, sleeper, filled, work, f"r-{fresh}", late) == (10, 10)
    assert engine.value(f"SELECT count(*) FROM delta.`{target.path}`") == 30

"""Streams whose engine is killed at every point of a batch: every row is written once, whoever goes on."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from catchment.errors import EngineLost
from catchment.plan.model import Dataset, JobPlan, Merge
from tests.concurrency.invariants import check, ids
from tests.concurrency.waiting import until, worker_of
from tests.ledgers import Filled, end_leases
from tests.matrices import EXHAUSTIVE, exhaustive
from tests.spark.lake import (
    HERE,
    LiveEngine,
    by,
    clause,
    delta_table,
    files,
    lake_depot,
    output,
    paimon_table,
    table,
    writing,
)
from tests.spark.streaming import arrive, arriving, streaming

Start = Callable[..., LiveEngine]

POINTS = ("sealed", "batch-written")
"""Promised and not published, and known to all but the checkpoint."""
OTHERS = (
    "before-data-written",
    "swap-applied",
    "data-written",
    "before-sealed",
    "lease-taken",
    "before-swap",
    "before-marked",
    "marked",
)


def job_of(root: Path, name: str) -> JobPlan:
    """Two outputs of one view and one of another, a file in each batch."""
    source = arriving(root, name, maxFilesPerTrigger="1")
    outputs = (
        output("rows", table(name), mode="append", name="lake"),
        output("rows", delta_table(name, root), mode="append", name="log"),
        output("source", files(root / "drop" / f"{name}_out", "parquet"), mode="append", name="plain"),
    )
    return streaming(root, name, source, *outputs)


def written(engine: LiveEngine, root: Path, name: str) -> list[list[int]]:
    """The ids in each output, in order, repetitions included."""
    log = delta_table(name, root).path
    places = (f"`lake`.raw.{name}", f"delta.`{log}`", f"parquet.`{root / 'drop' / f'{name}_out'}`")
    return [[row[0] for row in engine.rows(f"select id from {place} order by id")] for place in places]


@pytest.mark.parametrize("point", [*POINTS, *exhaustive(*OTHERS)])
@pytest.mark.slow
def test_the_next_run_writes_the_rest_of_the_batch_and_nothing_twice(
    engine: LiveEngine, root: Path, start_engine: Start, fresh: str, filled: Filled, point: str
) -> None:
    job = job_of(root, fresh)
    for first in (1, 4):
        arrive(root, fresh, range(first, first + 3))
    victim = start_engine(key="victim", fault=f"{point}:kill")
    assert isinstance(victim.start_job(job).answer(), EngineLost)
    end_leases(filled.store, worker_of(victim))
    engine.run(job)
    assert written(engine, root, fresh) == [[1, 2, 3, 4, 5, 6]] * 3
    arrive(root, fresh, [7])
    assert {report.rows for report in engine.run(job)} == {1}
    assert written(engine, root, fresh) == [[1, 2, 3, 4, 5, 6, 7]] * 3
    check(engine, fresh)


BY_DAY = Merge(clause("old.day = new.day"), clause("MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"), HERE)
RESULTS: dict[str, dict[str, Any]] = {
    "complete": {"mode": "overwrite"},
    "update": {"mode": "merge", "merge": BY_DAY},
}


@pytest.mark.parametrize(
    ("result", "point"),
    [
        ("complete", "batch-written"),
        pytest.param("complete", "sealed", marks=EXHAUSTIVE),
        pytest.param("update", "batch-written", marks=EXHAUSTIVE),
        pytest.param("update", "before-own-commit", marks=pytest.mark.slow),
    ],
)
@pytest.mark.slow
def test_what_a_stream_remembers_counts_every_row_once(
    engine: LiveEngine, root: Path, start_engine: Start, fresh: str, filled: Filled, result: str, point: str
) -> None:
    source = arriving(root, fresh, maxFilesPerTrigger="1")
    sql, written = "select day, count(*) n from source group by day", output("rows", table(fresh), **RESULTS[result])
    job = streaming(root, fresh, source, written, sql=sql, output_mode=result)
    for first in (1, 4):
        arrive(root, fresh, range(first, first + 3))
    victim = start_engine(key="victim", fault=f"{point}:kill")
    assert isinstance(victim.start_job(job).answer(), EngineLost)
    end_leases(filled.store, worker_of(victim))
    engine.run(job)
    arrive(root, fresh, [7], day="d2")
    engine.run(job)
    assert engine.rows(f"select day, n from `lake`.raw.{fresh} order by day") == [("d1", 6), ("d2", 1)]


@pytest.mark.slow
def test_a_stream_that_is_killed_at_random_writes_every_row_once(
    engine: LiveEngine, root: Path, start_java: Start, fresh: str, filled: Filled
) -> None:
    """An engine with a Java of its own, killed while it writes; each time another one goes on."""
    dice = random.Random(fresh)
    source = arriving(root, fresh, maxFilesPerTrigger="1")
    endless = streaming(root, fresh, source, trigger="back-to-back")
    sent = 0
    for round in range(2):
        victim = start_java(lake_depot(root), key=f"victim-{round}")
        victim.ready()
        pending = victim.start_job(endless, wait=True)
        for _ in range(dice.randint(3, 8)):
            sent += 1
            arrive(root, fresh, [sent])
            pending.wait_for("batch") if sent % 3 == 0 else None
        victim.process.stop(grace=0)
        end_leases(filled.store, worker_of(victim))
    engine.run(streaming(root, fresh, source))
    assert ids(engine, fresh) == list(range(1, sent + 1))
    check(engine, fresh)


def day_and_night(engine: LiveEngine, root: Path, fresh: str, target: Dataset) -> None:
    """A stream appends to today's partition while a batch job replaces yesterday's, again and again."""
    partitions = (by("identity", "day"),)
    engine.run(writing("select 0L id, 'd1' day", target, mode="append", partitions=partitions))
    source = arriving(root, fresh)
    endless = streaming(
        root, fresh, source, output("rows", target, mode="append", partitions=partitions), trigger="back-to-back"
    )
    stream = engine.start_job(endless)
    for number in range(1, 4):
        arrive(root, fresh, [number], day="d2")
        night = f"select {100 + number}L id, 'd1' day"
        engine.run(writing(night, target, mode="overwrite-partitions", partitions=partitions, name="night"))
    name = target.identifier

    def everything_is_there() -> bool:
        rows = engine.rows(f"select id, day from {name} order by id")
        return rows == [(1, "d2"), (2, "d2"), (3, "d2"), (103, "d1")]

    until(everything_is_there)
    assert not stream.is_answered()  # nothing made it start again
    engine.cancel(stream)
    assert stream.failed().code == "cancelled"


@pytest.mark.slow
def test_day_and_night_on_an_iceberg_table(engine: LiveEngine, root: Path, fresh: str) -> None:
    day_and_night(engine, root, fresh, table(fresh))


@pytest.mark.slow
def test_day_and_night_on_a_delta_table(engine: LiveEngine, root: Path, fresh: str) -> None:
    day_and_night(engine, root, fresh, delta_table(fresh, root))


@pytest.mark.slow
def test_day_and_night_on_a_paimon_table(older: LiveEngine, root: Path, fresh: str) -> None:
    day_and_night(older, root, fresh, paimon_table(fresh))

"""An engine with too little memory says so, whether it goes on or not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from catchment.engine.protocol import Failed
from catchment.errors import EngineLost, EngineOutOfMemory
from catchment.plan.model import JobPlan
from tests.concurrency.invariants import check, ids
from tests.concurrency.waiting import worker_of
from tests.ledgers import Filled, describe, end_leases, packed_lines
from tests.spark.lake import UNPREPARED, LiveEngine, lake_depot, table, writing

IN_THE_DRIVER = "SELECT size(sequence(1, 200000000)) AS n"
"""A constant: the planner computes it."""
FOR_A_SORT = "SELECT id FROM range(0, 1000, 1, 1) SORT BY hash(id)"
"""Of what Spark sets apart for sorts and the like; the task fails, and Java does not notice."""
IN_A_TASK = "SELECT size(sequence(1, 100000000 + id)) AS n FROM range(1)"
LONG = "SELECT count(*) AS n FROM range(0, 1000000000000, 1, 1)"
"""On one core, so that the other is free."""
HELD = "SELECT element_at(sequence(1, 3000000), CAST(id + 1 AS INT)) AS n FROM range(0, 10, 1, 1)"
"""The planner makes one value of the sequence, which the job holds until it ends."""
MANY = 32
TOO_MANY = 30_000_000
"""So many numbers, as JSON in Java, take more than half a gigabyte; packed in the ledger, they are a short text."""
COMPILED = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}
"""Interpreted, a count takes memory as a sort does."""


@pytest.mark.slow
def test_an_engine_that_runs_out_of_memory_says_so(start_java: Callable[..., LiveEngine], tmp_path: Path) -> None:
    conf = {**UNPREPARED, **COMPILED, "spark.driver.memory": "512m", "spark.memory.fraction": "0.0001"}
    engine = start_java(lake_depot(tmp_path), conf=conf)
    engine.ready()

    for name, sql in (("planned", IN_THE_DRIVER), ("sorted", FOR_A_SORT)):
        failed = engine.fail(writing(sql, table(name), name=name))
        assert (failed.code, failed.retryable) == ("out-of-memory", False)
        assert failed.message.endswith("engine default has 512m (spark.driver.memory)")
        assert failed.message.count("512m") == engine.log(name).count("512m (") == 1
        assert "`conf` of engine default in catchment.yaml" in str(failed.hint)
    [report] = engine.run(writing("SELECT 1 AS n", table("t")))
    assert report.rows == 1  # that one job failed, and nothing else

    beside = engine.start_job(writing(LONG, table("u"), name="beside"))
    beside.wait_for("progress")
    told = engine.start_job(writing(IN_A_TASK, table("t"), name="computed")).answer()
    assert isinstance(told, Failed | EngineOutOfMemory)  # the task may still say so before Spark ends Java
    assert told.code == "out-of-memory"
    lost = beside.answer()
    assert isinstance(lost, EngineOutOfMemory)
    assert lost.message == "engine default ran out of memory and ended; it had 512m (spark.driver.memory)"
    assert "driver: {memory: …}" in str(lost.hint)
    assert "engine-default.log" in str(lost.hint)


@pytest.mark.slow
def test_jobs_that_there_is_no_memory_for_wait_for_their_turn(
    start_java: Callable[..., LiveEngine], tmp_path: Path
) -> None:
    """All at once they would end the engine."""
    engine = start_java(lake_depot(tmp_path), conf={**UNPREPARED, "spark.driver.memory": "512m"})
    engine.ready()
    jobs = [writing(HELD, table("t"), name=f"job-{number}", mode="append") for number in range(MANY)]
    pending = [engine.start_job(job) for job in jobs]
    assert [each.done()[0].rows for each in pending] == [10] * MANY
    assert engine.value("SELECT count(*) FROM lake.raw.t") == 10 * MANY
    waited = [note for each in pending for note in each.notes if note.event == "waiting-for-memory"]
    assert waited
    for note in waited:
        assert 0 < note.data["heap_used"] < note.data["heap_most"] <= 512 * 2**20
        assert 0 < note.data["running"] < MANY
    assert sum(note.event == "admitted" for each in pending for note in each.notes) == len(waited)
    assert sum("waiting for memory" in engine.log(job.name) for job in jobs) == len(waited)


def append(name: str, number: int, job: str) -> JobPlan:
    return writing(f"SELECT {number} AS id", table(name), name=job, mode="append")


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_write_that_does_not_fit_into_memory_is_set_aside_and_the_others_go_on(
    engine: LiveEngine,
    start_engine: Callable[..., LiveEngine],
    start_java: Callable[..., LiveEngine],
    root: Path,
    filled: Filled,
    fresh: str,
) -> None:
    """An engine that tried it would end, and so would the next one."""
    small = start_java(lake_depot(root), conf={**UNPREPARED, "spark.driver.memory": "512m"})
    engine.run(append(fresh, 1, "first"))
    for number, job in enumerate(("before", "bloated", "after"), start=2):
        victim = start_engine(lake_depot(root), fault="sealed:kill")
        assert isinstance(victim.start_job(append(fresh, number, job), run=f"r-{fresh}").answer(), EngineLost)
        end_leases(filled.store, worker_of(victim))
    bloated = f"r-{fresh}/bloated/out"
    bloat(filled, bloated)

    small.ready()
    small.run(append(fresh, 5, "own"))

    assert ids(engine, fresh) == [1, 2, 4, 5]
    assert filled.states(bloated) == ["sealed"]
    error = filled.find(bloated).error or {}
    assert error["code"] == "write-set-aside"
    assert "MemoryError" in str(error["message"])
    small.run(append(fresh, 6, "later"))
    engine.run(append(fresh, 7, "elsewhere"))
    filled.store.decisions.drop(bloated)
    assert ids(engine, fresh) == [1, 2, 4, 5, 6, 7]
    check(engine, fresh)


def bloat(filled: Filled, write_id: str) -> None:
    """Let the file of a sealed write have a list of splits that is much too long."""
    known = filled.find(write_id)
    assert known.contents
    [file] = known.contents.descriptors
    line = json.dumps({**file, "split-offsets": ["these"]})
    describe(filled, write_id, packed_lines(line.replace('"these"', "1000," * TOO_MANY + "1000")))

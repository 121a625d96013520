"""Snapshots are expired and files removed while writes are on their way: no write is lost, none comes twice."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import update

from catchment.errors import EngineLost
from catchment.plan.model import Expire, JobPlan, RemoveOrphans, Rewrite
from catchment.store.schema import readers
from tests.concurrency.invariants import check, ids
from tests.concurrency.upkeep import compact, expire
from tests.concurrency.waiting import await_pending, await_sleep, held, until, worker_of
from tests.ledgers import Filled, end_leases, forget_engine
from tests.spark.lake import LiveEngine, lake_depot, maintaining, output, step, table, writing
from tests.spark.lake import job as job_of
from tests.spark.overtaking import at_gate, passing

Start = Callable[..., LiveEngine]
FAR = 4_000_000_000_000
"""A moment that everything is older than."""


def files_of(buffer: str) -> list[Path]:
    return sorted(Path(buffer).rglob("*.parquet"))


def appending(name: str, first: int, job: str) -> JobPlan:
    return writing(f"SELECT id FROM range({first}, {first + 10})", table(name), name=job, mode="append")


def appending_slowly(name: str, first: int, job: str) -> JobPlan:
    """A job of two files, one of which is not finished before the gate is opened."""
    closed = f"java_method('java.lang.System', 'getProperty', 'gate-{name}') = 'null'"
    pause = f"CASE WHEN id >= 1500 AND {closed} THEN java_method('java.lang.Thread', 'sleep', 50L) END"
    slow = f"SELECT id, {pause} AS paused FROM range(0, 3000, 1, 2)"
    rows = f"SELECT {first} + id % 1500 + IF(id < 1500, 0, 5) AS id FROM slow WHERE id % 1500 < 5 OR paused = 'no'"
    steps = [step("slow", slow), step("rows", rows)]
    return job_of(output("rows", table(name), mode="append"), steps=steps, name=job)


def open_gate(engine: LiveEngine, name: str) -> None:
    engine.ask(f"SELECT java_method('java.lang.System', 'setProperty', 'gate-{name}', 'open')")


@pytest.mark.slow
def test_open_and_sealed_writes_survive_expiry_and_removal(engine: LiveEngine, filled: Filled, fresh: str) -> None:
    for first in (0, 10):
        engine.run(appending(fresh, first, f"from-{first}"))
    slow = engine.start_job(appending_slowly(fresh, 20, "open"), run=f"r-{fresh}")
    slow.wait_for("progress")
    with held(filled.store, fresh):
        waiting = engine.start_job(appending(fresh, 30, "sealed"), run=f"r-{fresh}")
        await_pending(filled, fresh, 1)
        begun = [filled.find(f"r-{fresh}/{job}/out") for job in ("open", "sealed")]
        assert [write.state for write in begun] == ["open", "sealed"]
        until(lambda: len(files_of(begun[0].intent.buffer)) == 1)
        files = [files_of(write.intent.buffer) for write in begun]
        expire(engine, fresh)
        engine.ask(f"CALL lake.system.remove_orphan_files(table => 'raw.{fresh}')")  # safe by age: three days
        assert ids(engine, fresh) == list(range(20))
        assert [files_of(write.intent.buffer) for write in begun] == files
    assert waiting.done()[0].rows == 10
    [done] = engine.recover(table(fresh))
    assert (done["abandoned"], done["removed"], done["kept"], done["error"]) == ([], [], [], None)
    expire(engine, fresh)
    assert [files_of(write.intent.buffer) for write in begun] == files
    open_gate(engine, fresh)
    assert slow.done()[0].rows == 10
    assert ids(engine, fresh) == list(range(40))
    check(engine, fresh)


@pytest.mark.slow
def test_maintenance_spares_what_is_on_its_way_whatever_its_age(engine: LiveEngine, filled: Filled, fresh: str) -> None:
    for first in (0, 10):
        engine.run(appending(fresh, first, f"from-{first}"))
    slow = engine.start_job(appending_slowly(fresh, 20, "open"), run=f"r-{fresh}")
    slow.wait_for("progress")
    with held(filled.store, fresh):
        waiting = engine.start_job(appending(fresh, 30, "sealed"), run=f"r-{fresh}")
        await_pending(filled, fresh, 1)
        begun = [filled.find(f"r-{fresh}/{job}/out") for job in ("open", "sealed")]
        until(lambda: len(files_of(begun[0].intent.buffer)) == 1)
        files = [files_of(write.intent.buffer) for write in begun]
        orphan = Path(begun[0].intent.buffer).parent / "orphan.parquet"
        orphan.write_text("nobody's")
        for file in (orphan, *files[0], *files[1]):
            os.utime(file, (0, 0))  # as old as can be
        for operation in (Rewrite(properties={"rewrite-all": "true"}), Expire(FAR), RemoveOrphans(FAR)):
            engine.run(maintaining(table(fresh), operation))
        assert not orphan.exists()
        assert [files_of(write.intent.buffer) for write in begun] == files
    assert waiting.done()[0].rows == 10
    open_gate(engine, fresh)
    assert slow.done()[0].rows == 10
    assert ids(engine, fresh) == list(range(40))
    check(engine, fresh)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_files_of_a_direct_commit_are_as_old_as_its_job(engine: LiveEngine, filled: Filled, fresh: str) -> None:
    engine.run(appending(fresh, 0, "early"))
    place = Path(engine.inspect("table", table(fresh))["location"]) / "data"
    before = files_of(str(place))
    direct = appending_slowly(fresh, 10, "direct")
    slow = engine.start_job(replace(direct, outputs=(replace(direct.outputs[0], commit="direct"),)))
    until(lambda: len(files_of(str(place))) == len(before) + 1)
    [written] = set(files_of(str(place))) - set(before)
    with filled.store.database.writing() as connection:
        connection.execute(update(readers).values(since=readers.c.since - 1000))  # it began long ago
    os.utime(written, (time.time() - 500, time.time() - 500))
    engine.run(maintaining(table(fresh), RemoveOrphans(FAR)))
    assert written.exists()
    open_gate(engine, fresh)
    assert slow.done()[0].rows == 10
    assert ids(engine, fresh) == list(range(20))


def test_a_reader_keeps_what_it_reads(engine: LiveEngine, fresh: str) -> None:
    target = table(fresh)
    engine.run(writing("SELECT id FROM range(0, 1000, 1, 4)", target))
    query = engine.start_query(f"SELECT sum(id) FROM {target.identifier} WHERE {passing(target)}")
    with at_gate(engine, target):
        engine.run(writing("SELECT 7L AS id", target))
        upkeep = engine.start_job(maintaining(target, Expire(FAR)))
        upkeep.done()
        assert "running jobs or queries may read them" in str([note.data for note in upkeep.notes])
    assert query.result().rows == ((sum(range(1000)),),)
    engine.run(maintaining(target, Expire(FAR)))
    assert engine.value(f"SELECT count(*) FROM lake.raw.{fresh}.snapshots") == 1


@pytest.mark.slow
def test_expiry_keeps_the_history_that_tells_what_became_of_a_write(
    engine: LiveEngine, root: Path, start_engine: Start, filled: Filled, fresh: str
) -> None:
    engine.run(appending(fresh, 0, "early"))
    victim = start_engine(lake_depot(root), key="victim", fault="swap-applied:kill")
    assert isinstance(victim.start_job(appending(fresh, 10, "lost"), run=f"r-{fresh}").answer(), EngineLost)
    end_leases(filled.store, worker_of(victim))
    write_id = f"r-{fresh}/lost/out"
    assert filled.states(write_id) == ["sealed"]
    engine.ask(f"INSERT INTO lake.raw.{fresh} VALUES (20)")  # not through the ledger
    for operation in (Rewrite(properties={"rewrite-all": "true"}), Expire(FAR)):
        engine.run(maintaining(table(fresh), operation))
    [done] = engine.recover(table(fresh))
    assert (done["published"], done["refused"]) == ([write_id], [])
    assert ids(engine, fresh) == list(range(21))
    check(engine, fresh)


@pytest.mark.slow
def test_an_engine_that_was_taken_for_dead_cannot_seal_what_was_removed(
    engine: LiveEngine, root: Path, start_engine: Start, filled: Filled, fresh: str
) -> None:
    engine.run(appending(fresh, 0, "early"))
    sleeper = start_engine(lake_depot(root), key="sleeper", fault="before-sealed:stop")
    sleeper.ready()
    sleeping = sleeper.start_job(appending(fresh, 10, "slept"), run=f"r-{fresh}")
    await_sleep(worker_of(sleeper))
    lost = filled.find(f"r-{fresh}/slept/out").intent
    forget_engine(filled.store, lost.owner)
    [done] = engine.recover(table(fresh))
    assert (done["abandoned"], done["removed"]) == ([lost.write_id], [lost.buffer])
    os.kill(worker_of(sleeper), signal.SIGCONT)
    failed = sleeping.failed()
    assert (failed.code, failed.retryable) == ("write-superseded", True)
    assert ids(engine, fresh) == list(range(10))
    engine.run(appending(fresh, 10, "slept"), run=f"r-{fresh}", number=2)
    assert ids(engine, fresh) == list(range(20))
    check(engine, fresh)


@pytest.mark.slow
@pytest.mark.parametrize("compacted", [False, True])
def test_a_write_whose_snapshot_expired_before_anybody_heard_of_it_is_not_published_twice(
    engine: LiveEngine, root: Path, start_engine: Start, filled: Filled, fresh: str, compacted: bool
) -> None:
    engine.run(appending(fresh, 0, "early"))
    victim = start_engine(lake_depot(root), key="victim", fault="swap-applied:kill")
    assert isinstance(victim.start_job(appending(fresh, 10, "lost"), run=f"r-{fresh}").answer(), EngineLost)
    end_leases(filled.store, worker_of(victim))
    write_id = f"r-{fresh}/lost/out"
    assert filled.states(write_id) == ["sealed"]
    engine.ask(f"INSERT INTO lake.raw.{fresh} VALUES (20)")  # not through the ledger
    if compacted:
        compact(engine, fresh)
    expire(engine, fresh)
    [done] = engine.recover(table(fresh))
    if compacted:  # neither the history nor the files tell any more: a person has to look
        assert [(each["write_id"], each["code"]) for each in done["refused"]] == [(write_id, "history-expired")]
    else:
        assert done["published"] == [write_id]
    assert ids(engine, fresh) == list(range(21))
    assert engine.recover(table(fresh))[0]["removed"] == []
    assert ids(engine, fresh) == list(range(21))
    check(engine, fresh)

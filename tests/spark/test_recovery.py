"""What killed engines leave behind: finished, given up and cleaned away, and never a live file with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from catchment.errors import EngineLost
from catchment.plan.model import JobPlan
from catchment.project.model import Settings
from catchment.store import open_store
from tests.concurrency.invariants import check, ids
from tests.concurrency.waiting import await_pending, held, worker_of
from tests.ledgers import Filled, end_leases, forget_engine
from tests.spark.lake import LiveEngine, lake_depot, table, writing

Start = Callable[..., LiveEngine]


def appending(name: str, first: int, job: str) -> JobPlan:
    return writing(f"SELECT id FROM range({first}, {first + 10})", table(name), name=job, mode="append")


def kill(start: Start, root: Path, fault: str, job: JobPlan, run: str) -> None:
    """Run a job in an engine that dies at a point of the commit path."""
    victim = start(lake_depot(root), key="victim", fault=f"{fault}:kill")
    assert isinstance(victim.start_job(job, run=run).answer(), EngineLost)
    with open_store(f"sqlite:///{root}/metastore.db") as store:
        end_leases(store, worker_of(victim))


def files_of(buffer: str) -> list[Path]:
    return sorted(Path(buffer).rglob("*.parquet"))


def test_what_is_sealed_is_published_whatever_is_wrong_with_other_tables(
    engine: LiveEngine, root: Path, start_engine: Start, filled: Filled, fresh: str
) -> None:
    kill(start_engine, root, "sealed", appending(fresh, 0, "lost"), run=f"r-{fresh}")
    assert ids(engine, fresh) == []
    elsewhere, done = engine.recover(table(fresh, depot="nowhere"), table(fresh))
    assert elsewhere["error"]["code"] == "recovery-failed"
    assert (done["published"], done["error"]) == ([f"r-{fresh}/lost/out"], None)
    assert ids(engine, fresh) == list(range(10))
    assert filled.states(f"r-{fresh}/lost/out") == ["committed"]
    [again] = engine.recover(table(fresh))
    assert again == {**done, "published": []}
    check(engine, fresh)


@pytest.mark.slow
def test_what_is_open_is_given_up_once_its_engine_is_gone_and_its_files_go_when_asked(
    engine: LiveEngine, root: Path, start_engine: Start, filled: Filled, fresh: str
) -> None:
    write_id, place = f"r-{fresh}/lost/out", table(fresh)
    kill(start_engine, root, "before-sealed", appending(fresh, 0, "lost"), run=f"r-{fresh}")
    lost = filled.find(write_id).intent
    written = files_of(lost.buffer)
    assert written
    forget_engine(filled.store, lost.owner)

    pending = engine.start_job(appending(fresh, 10, "next"))
    pending.done()
    [warning] = [note for note in pending.notes if note.event == "warning"]
    assert f"left {write_id} unfinished" in warning.data["message"]
    assert filled.states(write_id) == ["abandoned"]

    [kept] = engine.recover(place, remove=False)
    assert (kept["abandoned"], kept["removed"], kept["kept"]) == ([], [], [lost.buffer])
    assert files_of(lost.buffer) == written
    [removed] = engine.recover(place)
    assert (removed["removed"], removed["kept"]) == ([lost.buffer], [])
    assert not Path(lost.buffer).exists()
    assert filled.left(place.address) == []

    engine.run(appending(fresh, 0, "lost"), run=f"r-{fresh}", number=2)
    assert ids(engine, fresh) == list(range(20))
    check(engine, fresh)


def test_sealed_writes_of_a_dropped_table_are_given_up(engine: LiveEngine, filled: Filled, fresh: str) -> None:
    place, write_id = table(fresh), f"r-{fresh}/job/out"
    with held(filled.store, fresh):
        waiting = engine.start_job(appending(fresh, 0, "job"), run=f"r-{fresh}")
        await_pending(filled, fresh, 1)
        engine.ask(f"DROP TABLE lake.raw.{fresh}")
        [done] = engine.recover(place)
        assert [(each["write_id"], each["code"]) for each in done["refused"]] == [(write_id, "table-dropped")]
        assert done["error"] is None
        assert waiting.failed().code == "table-dropped"
    assert files_of(filled.find(write_id).intent.buffer), "without the history nobody may remove files"
    [again] = engine.recover(place)
    assert (again["refused"], again["kept"], again["error"]) == ([], [], None)
    engine.run(appending(fresh, 0, "job"), run=f"r-{fresh}", number=2)
    assert ids(engine, fresh) == list(range(10))


def test_live_files_are_never_removed(engine: LiveEngine, filled: Filled, fresh: str) -> None:
    """Whatever the ledger says: the history decides, and all of it, branches and earlier states included."""
    place, buffers = table(fresh), {}
    engine.run(appending(fresh, 0, "replaced"), run=f"r-{fresh}")
    engine.run(writing("SELECT id FROM range(10)", place, name="current"), run=f"r-{fresh}")
    engine.rows(f"ALTER TABLE lake.raw.{fresh} CREATE BRANCH side")
    side = writing("SELECT id FROM range(10)", place, name="branch", mode="append", options={"branch": "side"})
    engine.run(side, run=f"r-{fresh}")
    for job in ("replaced", "current", "branch"):
        write_id = f"r-{fresh}/{job}/out"
        buffers[job] = filled.find(write_id).intent.buffer
        filled.lose(write_id)
        filled.abandon(write_id, target=place.address, buffer=buffers[job])
    filled.abandon(f"r-{fresh}/nobody/out", target=place.address, buffer=f"{buffers['current']}-nobody")

    [done] = engine.recover(place)
    assert sorted(done["kept"]) == sorted(buffers.values())
    assert done["removed"] == [f"{buffers['current']}-nobody"]
    assert filled.left(place.address) == []  # they are the table's own, and nobody is asked about them again
    for buffer in buffers.values():
        assert files_of(buffer)
    assert engine.value(f"SELECT count(*) FROM lake.raw.{fresh} VERSION AS OF 'side'") == 20
    check(engine, fresh)


@pytest.mark.slow
def test_a_write_whose_history_was_expired_does_not_come_twice(
    engine: LiveEngine, root: Path, start_engine: Start, fresh: str
) -> None:
    kill(start_engine, root, "swap-applied", appending(fresh, 0, "lost"), run=f"r-{fresh}")
    engine.run(writing("SELECT id FROM range(10, 20)", table(fresh), mode="append", commit="direct"))
    engine.rows(f"CALL lake.system.expire_snapshots('raw.{fresh}', TIMESTAMP '2100-01-01 00:00:00', 1)")
    assert len(engine.inspect("snapshots", table(fresh))["snapshots"]) == 1
    [done] = engine.recover(table(fresh))
    assert (done["published"], done["refused"]) == ([f"r-{fresh}/lost/out"], [])
    engine.run(appending(fresh, 0, "lost"), run=f"r-{fresh}", number=2)
    assert ids(engine, fresh) == list(range(20))
    check(engine, fresh)


@pytest.mark.slow
def test_writers_wait_their_turn_and_say_why(start_engine: Start, tmp_path: Path) -> None:
    kill(start_engine, tmp_path, "sealed", appending("t", 0, "lost"), run="r")
    busy = start_engine(lake_depot(tmp_path), settings=Settings(max_pending=1))
    busy.run(appending("t", 10, "first"))  # whoever waits publishes: those who sealed may be gone
    assert ids(busy, "t") == list(range(20))
    with open_store(f"sqlite:///{tmp_path}/metastore.db") as store, held(store, "t"):
        sealed = busy.start_job(appending("t", 20, "second"))
        await_pending(Filled(store), "t", 1)
        waiting, cancelled = (busy.start_job(appending("t", n, f"from-{n}")) for n in (30, 40))
        for each in (waiting, cancelled):
            assert "max_pending is 1" in each.wait_for("warning").data["message"]
        busy.cancel(cancelled)
        assert cancelled.failed().code == "cancelled"
        assert Filled(store).ledger.count_pending(table("t").address) == 1
    for each in (sealed, waiting):
        assert each.done()[0].rows == 10
    assert ids(busy, "t") == list(range(40))

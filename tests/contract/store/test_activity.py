"""What the metastore tells about writers and about unfinished business."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path

from sqlalchemy import event, update

from catchment.commit.recovery import Unfinished, unfinished
from catchment.plan.model import Dataset
from catchment.store import activity, open_store
from catchment.store.activity import RECENT_SECONDS
from catchment.store.database import database_time
from catchment.store.schema import writes
from catchment.store.writes import NO_BRANCH
from tests.ledgers import ALIVE, DATASET, LOST, TARGET, Filled


def test_buffers_have_rows_bytes_age_and_an_engine(filled: Filled) -> None:
    filled.engine()
    filled.open("r/j/open", owner=ALIVE)
    filled.seal("r/j/sealed", rows=7, owner=LOST)
    with filled.store.database.writing() as connection:
        connection.execute(update(writes).values(opened=database_time() - 100))
    [table] = filled.store.activity.tables()
    opened, sealed = table.writes
    assert (opened.state, opened.alive, opened.rows, opened.bytes) == ("open", True, None, None)
    assert 100 <= opened.seconds < 110
    assert (sealed.state, sealed.alive, sealed.rows, sealed.bytes, sealed.files) == ("sealed", False, 7, 100, 1)
    assert 0 <= sealed.seconds < 10  # since the seal, not since it was opened
    assert (sealed.workflow, sealed.mode, sealed.branch) == ("flow", "append", "main")


def test_the_writes_of_a_table_are_found_under_each_of_its_names(filled: Filled) -> None:
    renamed, other = "dataos://lake:raw/renamed", "dataos://lake:raw/other"
    filled.open("r/j/here", target=renamed)
    filled.seal("r/j/before", target=TARGET)
    filled.commit("r/j/done", snapshot=1)
    filled.open("r/j/elsewhere", target=other, table_uuid="another")
    found = filled.store.activity.of_table(renamed, "uuid")
    assert [(write.write_id, write.target) for write in found] == [("r/j/here", renamed), ("r/j/before", TARGET)]
    assert [write.write_id for write in filled.store.activity.of_table(other, "another")] == ["r/j/elsewhere"]


def test_the_holder_of_a_tables_lease_is_named(filled: Filled) -> None:
    filled.engine()
    filled.store.leases.acquire(f"table/{TARGET}", ALIVE, 600.0)
    filled.store.leases.acquire("run/r1", "somebody", 600.0)
    over = filled.store.leases.acquire("table/dataos://lake:raw/over", ALIVE, 600.0)
    filled.store.leases.release(over)
    [table] = filled.store.activity.tables()
    assert table.target == TARGET
    assert table.lease is not None
    assert (table.lease.owner, table.lease.fence) == (ALIVE, 1)


def test_a_lease_by_place_belongs_to_the_table_there(filled: Filled) -> None:
    filled.engine()
    filled.open("r/j/out", owner=ALIVE, buffer="r.j.out.1", buffered=False, place="/events/raw/clicks")
    filled.store.leases.acquire("table//events/raw/clicks", ALIVE, 600.0)
    [table] = filled.store.activity.tables()
    assert table.lease is not None
    assert (table.target, table.lease.owner) == (TARGET, ALIVE)


def test_commits_of_the_last_minutes_are_counted(filled: Filled) -> None:
    for number in range(6):
        filled.commit(f"r/j/{number}", snapshot=number // 3)
    filled.commit("r/j/empty", snapshot=None)
    filled.commit("r/j/old", snapshot=99)
    with filled.store.database.writing() as connection:
        ancient = update(writes).where(writes.c.write_id == "r/j/old")
        connection.execute(ancient.values(finished=database_time() - RECENT_SECONDS - 1))
    [table] = filled.store.activity.tables()
    assert (table.commits_per_minute, table.writes_per_minute) == (2 / 5, 1.4)
    assert table.writes == ()


def test_files_are_published_one_write_after_the_other(filled: Filled) -> None:
    for number in range(3):
        filled.commit(f"r/j/{number}", snapshot=None, branch=NO_BRANCH)
    [directory] = filled.store.activity.tables()
    assert (directory.commits_per_minute, directory.writes_per_minute) == (0.6, 0.6)


def test_unfinished_files_tell_where_they_are(filled: Filled) -> None:
    here, there = (Dataset(f"dataos://bucket:none/{name}", "bucket", "csv", path=f"/{name}") for name in "de")
    filled.seal("r/j/1", target=here.address, buffer="/d/.catchment-stage/r.j.1.0", dataset=here)
    filled.abandon("r/j/2", target=there.address, buffer="/e/.catchment-stage/r.j.2.0", dataset=there)
    filled.seal("r/j/3")
    assert [found.dataset for found in unfinished(filled.store)] == [asdict(here), asdict(there), asdict(DATASET)]


def test_tables_stand_by_themselves_and_in_order(filled: Filled) -> None:
    filled.seal("r/j/2", target="dataos://lake:raw/b")
    filled.open("r/j/1", target="dataos://lake:raw/a")
    filled.abandon("r/j/3", target="dataos://lake:raw/c")
    tables = filled.store.activity.tables()
    assert [(table.target[-1], len(table.writes), table.leftovers) for table in tables] == [
        ("a", 1, 0),
        ("b", 1, 0),
        ("c", 0, 1),
    ]


def test_what_there_is_to_recover(filled: Filled) -> None:
    filled.engine()
    filled.open("r/j/mine", owner=ALIVE)
    filled.open("r/j/lost", owner=LOST)
    filled.seal("r/j/sealed", owner=LOST)
    filled.abandon("r/j/given-up")
    filled.commit("r/j/done", 5)
    [table] = unfinished(filled.store)
    buffers = ("/lake/data/r.j.lost", "/lake/data/r.j.given-up")
    assert table == Unfinished(TARGET, ("r/j/sealed",), (), ("r/j/lost",), ("r/j/mine",), buffers, asdict(DATASET))
    assert table.recoverable


def test_the_open_writes_of_the_living_are_nothing_to_recover(filled: Filled) -> None:
    filled.engine()
    filled.open("r/j/mine", owner=ALIVE)
    [table] = unfinished(filled.store)
    assert not table.recoverable


def test_one_table_alone(filled: Filled) -> None:
    filled.seal("r/j/1", target="dataos://lake:raw/a")
    filled.seal("r/j/2", target="dataos://lake:raw/b")
    assert [table.sealed for table in unfinished(filled.store, "dataos://lake:raw/b")] == [("r/j/2",)]
    assert unfinished(filled.store, "dataos://lake:raw/c") == ()


def test_what_is_asked_often_is_looked_up_and_not_searched_for(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path}/metastore.db") as store, store.database.reading() as connection:
        asked: list[str] = []
        event.listen(connection, "before_cursor_execute", lambda *given: asked.append(given[2]))
        activity._tables(connection)
        plans = [connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {_bound(each)}").all() for each in list(asked)]
    steps = [str(step[3]) for plan in plans for step in plan]
    assert not [step for step in steps if step == "SCAN writes"]
    assert {"SCAN writes USING INDEX writes_unfinished"} <= set(steps)
    assert [step for step in steps if "writes_by_finish" in step]


def _bound(statement: str) -> str:
    return statement.replace("?", "1")


def test_the_last_compaction_of_a_table(filled: Filled) -> None:
    assert filled.store.activity.last_compaction(TARGET) is None
    filled.open("somebody-1/rewrite_dataset/table", mode="maintain")
    filled.commit("somebody-2/expire_snapshots/table", snapshot=1, mode="maintain")
    filled.commit("r/rewrite_dataset/out", snapshot=2)  # an append of a job with that name
    assert filled.store.activity.last_compaction(TARGET) is None
    filled.commit("somebody-3/rewrite_dataset/table", snapshot=3, mode="maintain")
    assert abs(time.time() - (filled.store.activity.last_compaction(TARGET) or 0)) < 30

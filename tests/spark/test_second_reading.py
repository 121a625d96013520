"""Sealed writes on the day that something else has happened to the metastore, to the table, or to one of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

import pytest
from sqlalchemy import delete, select, update

from catchment.plan.model import Dataset, JobPlan
from catchment.run_model import new_run_id
from catchment.store import Store
from catchment.store.schema import seals, writes
from catchment.store.writes import FATE_UNKNOWN
from tests.concurrency.invariants import check, ids
from tests.concurrency.waiting import await_pending, held
from tests.ledgers import Filled, describe, packed_lines, spoil, wait_for_long
from tests.spark.lake import LiveEngine, Pending, by, table, writing


def append(name: str, *numbers: int, job: str = "job", **more: object) -> JobPlan:
    rows = " UNION ALL ".join(f"SELECT {number} AS id, {number % 2} AS part" for number in numbers)
    return writing(rows, table(name), name=job, mode="append", partitions=(by("identity", "part"),), **more)


def replace_parts(name: str, *numbers: int, conflict: str, job: str = "replacing") -> JobPlan:
    rows = " UNION ALL ".join(f"SELECT {number} AS id, {number % 2} AS part" for number in numbers)
    spec = (by("identity", "part"),)
    mode = "overwrite-partitions"
    return writing(rows, table(name), name=job, mode=mode, conflict=conflict, partitions=spec)


@contextmanager
def older_metastore(store: Store, target: Dataset) -> Iterator[None]:
    """What the ledger gets to know of a table in here is lost at the end, as after a failover to an older copy."""
    with store.database.reading() as connection:
        before = [
            dict(row._mapping) for row in connection.execute(select(writes).where(writes.c.target == target.address))
        ]
        number = connection.scalar(select(seals.c.number).where(seals.c.target == target.address))
    yield
    with store.database.writing() as connection:
        connection.execute(delete(writes).where(writes.c.target == target.address))
        for row in before:
            connection.execute(writes.insert().values(row))
        connection.execute(update(seals).where(seals.c.target == target.address).values(number=number or 0))


def warnings(pending: Pending) -> list[str]:
    return [note.data["message"] for note in pending.notes if note.event == "warning"]


def test_a_write_that_the_metastore_has_lost_is_not_published_again(
    engine: LiveEngine, fresh: str, filled: Filled
) -> None:
    run = new_run_id(datetime.now(timezone.utc))  # it says how far back to look
    engine.run(append(fresh, 9))
    with older_metastore(filled.store, table(fresh)):
        engine.run(append(fresh, 0, 1, job="lost"), run=run)
        engine.run(append(fresh, 2, job="later"))
    again = engine.start_job(append(fresh, 0, 1, job="lost"), run=run, number=2)
    again.done()
    assert ids(engine, fresh) == [0, 1, 2, 9]
    assert filled.states(f"{run}/lost/out") == ["committed"]
    check(engine, fresh)


def test_a_metastore_that_is_behind_a_table_catches_up(engine: LiveEngine, fresh: str, filled: Filled) -> None:
    engine.run(append(fresh, 9))
    with older_metastore(filled.store, table(fresh)):
        for number in (1, 2, 3):
            engine.run(append(fresh, number, job=f"lost{number}"), run=f"r-{fresh}")
    pending = engine.start_job(append(fresh, 4))
    pending.done()
    [warning] = warnings(pending)
    assert warning.startswith(f"metastore-behind: {table(fresh).address} has 3 writes")
    assert filled.states(*(f"r-{fresh}/lost{number}/out" for number in (1, 2, 3))) == ["committed"] * 3
    later = engine.start_job(append(fresh, 5))
    later.done()
    assert warnings(later) == []
    assert ids(engine, fresh) == [1, 2, 3, 4, 5, 9]
    check(engine, fresh)


@pytest.mark.parametrize(("conflict", "left"), [("fail", [1, 3, 5]), ("rerun", [7])])
def test_an_append_in_the_same_batch_is_a_change_too(
    engine: LiveEngine, elsewhere: LiveEngine, fresh: str, filled: Filled, conflict: str, left: list[int]
) -> None:
    for number in (1, 3):
        engine.run(append(fresh, number))
    with held(filled.store, fresh):
        first = elsewhere.start_job(append(fresh, 5, job="appending"))
        await_pending(filled, fresh, 1)
        second = engine.start_job(replace_parts(fresh, 7, conflict=conflict))
        await_pending(filled, fresh, 2)
        compact(engine, fresh)
    first.done()
    if conflict == "fail":
        assert second.failed().code == "partitions-changed"
    else:
        second.done()
    assert ids(engine, fresh) == left
    check(engine, fresh)


@pytest.mark.parametrize(("conflict", "left"), [("fail", [1, 2]), ("last-wins", [7])])
def test_a_full_overwrite_does_not_replace_what_others_committed_meanwhile(
    engine: LiveEngine, elsewhere: LiveEngine, fresh: str, filled: Filled, conflict: str, left: list[int]
) -> None:
    engine.run(append(fresh, 1))
    with held(filled.store, fresh):
        replacing = engine.start_job(
            writing("SELECT 7 AS id, 1 AS part", table(fresh), mode="overwrite", conflict=conflict)
        )
        await_pending(filled, fresh, 1)
        elsewhere.ask(f"INSERT INTO lake.raw.{fresh} VALUES (2, 0)")
    if conflict == "fail":
        assert replacing.failed().code == "partitions-changed"
    else:
        replacing.done()
    assert ids(engine, fresh) == left
    check(engine, fresh)


@pytest.mark.parametrize(
    ("replacement", "code"),
    [
        ("CREATE OR REPLACE TABLE lake.raw.{} USING iceberg AS SELECT 'word' AS id, 5 AS part", "table-redefined"),
        ("CREATE OR REPLACE TABLE lake.raw.{} USING iceberg AS SELECT 5 AS id, 5 AS part", "table-redefined"),
        ("CREATE OR REPLACE TABLE lake.raw.{} (id STRING, part INT) USING iceberg", "table-redefined"),
        ("ALTER TABLE lake.raw.{} ALTER COLUMN id TYPE BIGINT", None),
        ("ALTER TABLE lake.raw.{} ADD COLUMN more STRING", None),
    ],
    ids=["another type", "the same types", "empty", "a wider type", "a new column"],
)
def test_a_table_that_was_replaced_does_not_take_old_files(
    engine: LiveEngine, elsewhere: LiveEngine, fresh: str, filled: Filled, replacement: str, code: str | None
) -> None:
    engine.run(append(fresh, 1))
    with held(filled.store, fresh):
        pending = engine.start_job(append(fresh, 2))
        await_pending(filled, fresh, 1)
        elsewhere.ask(replacement.format(fresh))
    if code:
        assert pending.failed().code == code
    else:
        pending.done()
    engine.rows(f"SELECT * FROM lake.raw.{fresh}")
    assert engine.value(f"SELECT count(*) FROM lake.raw.{fresh} WHERE id = '2'") == (0 if code else 1)


def test_an_empty_table_that_was_replaced_refuses_other_types(
    engine: LiveEngine, elsewhere: LiveEngine, fresh: str, filled: Filled
) -> None:
    engine.ask(f"CREATE TABLE lake.raw.{fresh} (id INT, part INT) USING iceberg")
    with held(filled.store, fresh):
        pending = engine.start_job(writing("SELECT 2 AS id, 1 AS part", table(fresh), mode="append"))
        await_pending(filled, fresh, 1)
        elsewhere.ask(f"CREATE OR REPLACE TABLE lake.raw.{fresh} (id STRING, part INT) USING iceberg")
    failed = pending.failed()
    assert (failed.code, "id from int to string" in failed.message) == ("schema-changed", True)
    assert engine.rows(f"SELECT * FROM lake.raw.{fresh}") == []


def test_a_write_that_spoils_a_batch_is_set_aside_and_the_others_go_on(
    engine: LiveEngine, elsewhere: LiveEngine, fresh: str, filled: Filled
) -> None:
    engine.run(append(fresh, 1))
    with held(filled.store, fresh):
        spoilt = elsewhere.start_job(append(fresh, 2, job="spoilt"), run=f"r-{fresh}")
        await_pending(filled, fresh, 1)
        known = filled.find(f"r-{fresh}/spoilt/out")
        spoil(filled, known.write_id)
        innocent = engine.start_job(append(fresh, 3, job="innocent"))
        await_pending(filled, fresh, 2)
    failed = spoilt.failed()
    assert (failed.code, failed.retryable) == ("write-set-aside", False)
    assert "77" in failed.message
    innocent.done()
    engine.run(append(fresh, 4))
    assert ids(engine, fresh) == [1, 3, 4]
    [set_aside] = [write for write in filled.store.activity.writes() if write.target == table(fresh).address]
    assert (set_aside.write_id, set_aside.state) == (known.write_id, "sealed")
    [done] = engine.recover(table(fresh))
    assert [(each["write_id"], each["code"]) for each in done["refused"]] == [(known.write_id, "write-set-aside")]
    filled.store.decisions.drop(known.write_id)
    [done] = engine.recover(table(fresh))
    assert (done["refused"], done["removed"]) == ([], [known.intent.buffer])
    check(engine, fresh)


def test_files_that_another_program_removed_while_they_waited_are_missed(
    engine: LiveEngine, elsewhere: LiveEngine, fresh: str, filled: Filled
) -> None:
    """Iceberg would commit them all the same, and nobody could read the table any more."""
    engine.run(append(fresh, 1))
    with held(filled.store, fresh):
        jobs = [append(fresh, 2, job="one"), append(fresh, 4, 5, job="several"), append(fresh, 3, job="whole")]
        sent = []
        for number, job in enumerate(jobs):
            sent.append(elsewhere.start_job(job, run=f"r-{fresh}"))
            await_pending(filled, fresh, number + 1)
        writes = [filled.find(f"r-{fresh}/{job.name}/out") for job in jobs]
        for write in writes[:2]:
            sorted(Path(write.intent.buffer).rglob("*.parquet"))[-1].unlink()
        wait_for_long(filled, *(write.write_id for write in writes))
    assert [pending.failed().code for pending in sent[:2]] == ["files-vanished"] * 2
    sent[2].done()
    assert ids(engine, fresh) == [1, 3]
    check(engine, fresh)


def test_writes_that_nobody_can_read_are_set_aside_one_by_one(
    engine: LiveEngine, elsewhere: LiveEngine, fresh: str, filled: Filled
) -> None:
    """What the ledger says of their files is damaged: as a row, as JSON that Python reads, as JSON that Java reads."""
    engine.run(append(fresh, 1))
    damaged = [
        (append(fresh, 2, job="row"), "????"),
        (append(fresh, 4, job="file"), packed_lines('{"spec-id": 0}')),
        (replace_parts(fresh, 6, conflict="last-wins", job="parts"), packed_lines("{")),
        (replace_parts(fresh, 8, conflict="fail", job="compared"), packed_lines('{"spec-id": 0}')),
    ]
    with held(filled.store, fresh):
        spoilt = []
        for number, (job, descriptors) in enumerate(damaged):
            spoilt.append(elsewhere.start_job(job, run=f"r-{fresh}"))
            await_pending(filled, fresh, number + 1)
            describe(filled, f"r-{fresh}/{job.name}/out", descriptors)
        innocent = engine.start_job(append(fresh, 3))
        await_pending(filled, fresh, len(damaged) + 1)
        compact(engine, fresh)  # the last one is compared file by file then
    failures = [pending.failed() for pending in spoilt]
    assert [(failed.code, failed.retryable) for failed in failures] == [("write-set-aside", False)] * 4
    innocent.done()
    engine.run(append(fresh, 5))
    assert ids(engine, fresh) == [1, 3, 5]
    [done] = engine.recover(table(fresh))
    assert {each["write_id"] for each in done["refused"]} == {f"r-{fresh}/{job.name}/out" for job, _ in damaged}
    check(engine, fresh)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("ALTER TABLE lake.raw.{} REPLACE PARTITION FIELD part WITH bucket(2, id)", "write-set-aside"),
        ("ALTER TABLE lake.raw.{} ALTER COLUMN id TYPE BIGINT", "schema-changed"),
    ],
    ids=["partition spec", "schema"],
)
def test_metadata_that_was_cleaned_away_under_a_sealed_write(
    engine: LiveEngine, elsewhere: LiveEngine, fresh: str, filled: Filled, change: str, code: str
) -> None:
    """Nothing in the table refers any more to the partition spec, or to the schema, that its files were written in."""
    engine.run(append(fresh, 1))
    with held(filled.store, fresh):
        waiting = elsewhere.start_job(append(fresh, 2, job="waiting"), run=f"r-{fresh}")
        await_pending(filled, fresh, 1)
        engine.ask(change.format(fresh))
        compact(engine, fresh)
        engine.ask(f"INSERT INTO lake.raw.{fresh} SELECT * FROM lake.raw.{fresh}")  # leaves removed files out
        engine.ask(
            f"CALL lake.system.expire_snapshots(table => 'raw.{fresh}', older_than => now(), "
            "clean_expired_metadata => true)"
        )
        later = engine.start_job(writing("SELECT 3 AS id, 1 AS part", table(fresh), name="later", mode="append"))
        await_pending(filled, fresh, 2)
    assert waiting.failed().code == code
    later.done()
    [done] = engine.recover(table(fresh))
    kept = [(f"r-{fresh}/waiting/out", code)] if code == "write-set-aside" else []
    assert [(each["write_id"], each["code"]) for each in done["refused"]] == kept
    assert ids(engine, fresh) == [1, 1, 3]


def compact(engine: LiveEngine, name: str) -> None:
    engine.ask(f"CALL lake.system.rewrite_data_files(table => 'raw.{name}', options => map('rewrite-all', 'true'))")


def test_a_write_whose_fate_is_unknown_stays_so_until_a_person_says(
    engine: LiveEngine, fresh: str, filled: Filled
) -> None:
    engine.run(append(fresh, 1))
    job, run, write_id = append(fresh, 2, job="unknown"), f"r-{fresh}", f"r-{fresh}/unknown/out"
    engine.run(job, run=run)
    with filled.store.database.writing() as connection:
        error = {"code": FATE_UNKNOWN, "message": "nobody can tell", "hint": "look for its rows"}
        connection.execute(update(writes).where(writes.c.write_id == write_id).values(state="abandoned", error=error))
    for number in (2, 3):
        failed = engine.fail(job, run=run, number=number)
        assert (failed.code, failed.retryable, failed.message) == (FATE_UNKNOWN, False, "nobody can tell")
    assert ids(engine, fresh) == [1, 2]
    filled.store.decisions.accept(write_id, "committed")
    engine.run(job, run=run, number=4)
    assert ids(engine, fresh) == [1, 2]

"""Old files of Delta tables are removed, and none that somebody may need."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import update

from catchment.engine.protocol import Failed
from catchment.plan.model import Commits, Dataset, Expire, JobPlan, Rewrite
from catchment.store.schema import writes
from tests.concurrency.waiting import until
from tests.ledgers import Filled
from tests.spark.hosts import Host
from tests.spark.lake import HERE, LiveEngine, delta_table, job, output, reading, step, table, writing

DAYS = 10
"""More than the week for which Delta keeps files if nobody says otherwise."""
DAY = 24 * 60 * 60.0


@pytest.fixture
def target(fresh: str, root: Path) -> Dataset:
    return delta_table(fresh, root)


def appending(target: Dataset, number: int) -> JobPlan:
    return writing(f"SELECT {number}L AS id", target, name=f"w{number}", mode="append")


def data_files(target: Dataset) -> set[Path]:
    return set(Path(str(target.path)).glob("*.parquet"))


def age(target: Dataset) -> None:
    """Let everything that happened to a table have happened days ago."""
    then = time.time() - DAYS * DAY
    place = Path(str(target.path))
    for file in place.glob("*.parquet"):
        os.utime(file, (then, then))
    for entry in (place / "_delta_log").glob("*.json"):
        lines = [json.loads(line) for line in entry.read_text().splitlines()]
        for line in lines:
            if "remove" in line:
                line["remove"]["deletionTimestamp"] = round(then * 1000)
            if "commitInfo" in line:
                line["commitInfo"]["timestamp"] = round(then * 1000)
        entry.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        os.utime(entry, (then, then))


def before(days: float) -> Expire:
    return Expire(before=round((time.time() - days * DAY) * 1000))


def compacted(engine: LiveEngine, target: Dataset) -> None:
    """A table whose first files are in no version any more but the old ones, and whose past is old."""
    for number in (1, 2):
        engine.run(appending(target, number))
    engine.maintain(target, Rewrite())
    age(target)


def ids(engine: LiveEngine, target: Dataset) -> list[int]:
    return [row[0] for row in engine.rows(f"SELECT id FROM delta.`{target.path}` ORDER BY id")]


@pytest.mark.slow
def test_files_of_old_versions_are_removed(engine: LiveEngine, elsewhere: Host, target: Dataset) -> None:
    compacted(engine, target)
    assert len(data_files(target)) == 3
    young = elsewhere.maintain(target, before(DAYS + 1), dry_run=True)
    assert (young["files"], young["snapshots"]) == ([], [])
    assert elsewhere.maintain(target, replace(before(1), retain_last=2), dry_run=True)["files"] == []
    planned = elsewhere.maintain(target, before(1), dry_run=True)
    assert (len(planned["files"]), len(data_files(target))) == (2, 3)
    done = elsewhere.maintain(target, before(1))
    assert (done["files"], len(data_files(target))) == (planned["files"], 1)
    assert ids(elsewhere, target) == [1, 2]
    assert elsewhere.maintain(target, before(1))["files"] == []
    elsewhere.run(appending(target, 3))
    assert ids(elsewhere, target) == [1, 2, 3]


@contextmanager
def sealed(engine: LiveEngine, filled: Filled, target: Dataset) -> Iterator[None]:
    """An append that is sealed, and days old, while somebody holds the lease of the table."""
    lease = filled.store.leases.acquire(f"table/{target.path}", "somebody who takes his time", 600.0)
    try:
        pending = engine.start_job(appending(target, 9))
        until(lambda: filled.ledger.count_pending(target.address) == 1)
        with filled.store.ledger._database.writing() as connection:
            then = time.time() - DAYS * DAY
            connection.execute(update(writes).where(writes.c.target == target.address).values(opened=then))
        yield
    finally:
        filled.store.leases.release(lease)
    pending.done()


@pytest.mark.slow
@pytest.mark.exhaustive
def test_what_a_sealed_write_has_written_stays(
    engine: LiveEngine, elsewhere: Host, filled: Filled, target: Dataset
) -> None:
    compacted(engine, target)
    with sealed(elsewhere, filled, target):
        age(target)
        assert elsewhere.maintain(target, before(1))["files"] == []
    assert ids(elsewhere, target) == [1, 2, 9]


@pytest.mark.slow
def test_what_an_incremental_job_has_still_to_read_stays(
    engine: LiveEngine, elsewhere: Host, fresh: str, target: Dataset
) -> None:
    engine.run(appending(target, 0))
    source = replace(reading("source", target), commits=Commits(HERE))
    copying = job(
        output("rows", table(fresh), mode="append"), inputs=[source], steps=[step("rows", "select id from source")]
    )
    engine.run(copying)
    compacted(engine, target)
    kept = elsewhere.maintain(target, before(1))
    assert (kept["files"], [each["job"] for each in kept["followers"]]) == ([], ["job"])
    elsewhere.run(copying)
    assert [row[0] for row in engine.rows(f"select id from lake.raw.{fresh} order by id")] == [0, 1, 2]


def test_what_vacuum_cannot_do_is_refused(engine: LiveEngine, target: Dataset) -> None:
    engine.run(appending(target, 1))
    for asked in (Expire(snapshot_ids=("1",)), Expire(deletes=3)):
        refused = engine.start_maintenance(target, asked).answer()
        assert isinstance(refused, Failed)
        assert refused.code == "unsupported-option"

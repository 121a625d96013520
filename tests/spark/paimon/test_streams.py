"""Paimon tables as streams: every row that is added is read once, through restarts, kills and compactions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from catchment.errors import EngineLost
from catchment.plan.model import Dataset, JobPlan, KeyColumn, Rewrite
from tests.concurrency.waiting import worker_of
from tests.ledgers import Filled, end_leases
from tests.matrices import exhaustive
from tests.spark.lake import LiveEngine, changing, deleting, output, paimon_table, writing
from tests.spark.paimon.jobs import KEY, appending, ids, keyed, snapshots
from tests.spark.streaming import following, streaming, told

pytestmark = pytest.mark.slow

Start = Callable[..., LiveEngine]


def copying(root: Path, source: Dataset, copy: Dataset, **stream: str) -> JobPlan:
    """A job that appends what is added to a table to another one."""
    written = output("rows", copy, mode="append")
    return streaming(root, str(copy.table), following(source), written, sql="select id from source", **stream)


@pytest.fixture
def copy(fresh: str) -> Dataset:
    return paimon_table(f"{fresh}_copy")


def test_each_run_writes_what_was_added_since_the_one_before(
    here: LiveEngine, root: Path, target: Dataset, copy: Dataset
) -> None:
    for first in (1, 6):
        here.run(appending(target, first))
    assert here.run(copying(root, target, copy))[0].rows == 10
    here.maintain(target, Rewrite(properties={}))
    here.run(appending(target, 11))
    here.run(copying(root, target, copy))
    assert ids(here, copy) == list(range(1, 16))
    assert len(snapshots(here, copy)) == 2


def test_an_endless_stream_follows_the_table_and_the_next_run_goes_on(
    here: LiveEngine, root: Path, target: Dataset, copy: Dataset
) -> None:
    here.run(appending(target, 1))
    endless = copying(root, target, copy, trigger="back-to-back")
    pending = here.start_job(endless)
    assert pending.wait_for("batch").data["rows"] == 5
    here.run(appending(target, 6))
    while sum(each["rows"] for each in told(pending, "batch")) < 10:
        pending.wait_for("batch")
    here.cancel(pending)
    assert pending.failed().code == "cancelled"
    here.run(appending(target, 11))
    here.run(copying(root, target, copy))
    assert ids(here, copy) == list(range(1, 16))


def test_it_tells_how_many_snapshots_are_still_to_be_read(
    here: LiveEngine, root: Path, target: Dataset, copy: Dataset
) -> None:
    here.run(appending(target, 1))
    for to, behind in ((target, 1), (copy, 0)):
        pending = here.start_job(copying(root, target, to))
        pending.done()
        assert told(pending, "batch")[-1]["lag"] == {"commitsBehindLatest": behind}


def test_rows_with_a_key_come_again_when_they_change(
    here: LiveEngine, root: Path, target: Dataset, copy: Dataset
) -> None:
    here.run(keyed("select 1L id, 'a' mark union all select 2L, 'b'", target))
    here.run(copying(root, target, copy))
    here.run(keyed("select 2L id, 'c' mark", target))
    here.run(copying(root, target, copy))
    assert ids(here, copy) == [1, 2, 2]


def test_what_does_not_only_grow_ends_the_stream(here: LiveEngine, root: Path, target: Dataset, copy: Dataset) -> None:
    here.run(appending(target, 1))
    here.run(appending(target, 6))
    here.run(copying(root, target, copy))
    here.run(writing("select 7L id", target, mode="overwrite"))
    failed = here.fail(copying(root, target, copy))
    assert (failed.code, failed.where is not None, bool(failed.hint)) == ("source-overwritten", True, True)
    here.change(changing(target, "rollback", snapshot="1"))
    assert here.fail(copying(root, target, copy)).code == "source-history-gone"
    assert ids(here, copy) == list(range(1, 11))


def test_rows_that_are_deleted_or_in_parts_cannot_be_followed(
    here: LiveEngine, root: Path, target: Dataset, copy: Dataset
) -> None:
    here.run(keyed("select 1L id union all select 2L", target))
    here.run(copying(root, target, copy))
    here.run(deleting(target, "target.id = 1"))
    assert here.fail(copying(root, target, copy)).code == "source-overwritten"
    parts = paimon_table(f"{target.table}_parts")
    here.run(keyed("select 1L id, 'a' mark", parts, merge_engine="partial-update"))
    assert here.fail(copying(root, parts, paimon_table(f"{target.table}_none"))).code == "source-merges-rows"


def test_a_result_is_kept_by_key(here: LiveEngine, root: Path, target: Dataset, copy: Dataset) -> None:
    """The changed rows of a result become the rows of their keys, the whole result replaces what was there."""
    here.run(appending(target, 1))
    key = (KeyColumn("part", KEY),)
    changed = output("rows", copy, mode="append", primary_key=key, properties={"bucket": "1"})
    whole = output("rows", paimon_table(f"{copy.table}_whole"), mode="overwrite")
    sql, jobs = "select id % 2 part, count(*) n from source group by 1", []
    for mode, written in (("update", changed), ("complete", whole)):
        name = str(written.dataset.table)
        jobs.append(streaming(root, name, following(target), written, sql=sql, output_mode=mode))
    for first in (1, 6, 11):
        here.run(appending(target, first)) if first > 1 else None
        for job in jobs:
            here.run(job)
    for job in jobs:
        found = here.rows(f"select part, n from {job.outputs[0].dataset.identifier} order by part")
        assert found == [(0, 7), (1, 8)]


POINTS = ("before-data-written", "before-sealed", "lease-taken", "before-swap", "swap-applied", "marked")


@pytest.mark.parametrize("point", ["sealed", *exhaustive(*POINTS)])
def test_whoever_goes_on_after_a_kill_writes_every_row_once(
    here: LiveEngine, root: Path, start_older: Start, target: Dataset, copy: Dataset, ledger: Filled, point: str
) -> None:
    for first in (1, 6):
        here.run(appending(target, first))
    victim = start_older(key="victim", fault=f"{point}:kill")
    assert isinstance(victim.start_job(copying(root, target, copy)).answer(), EngineLost)
    end_leases(ledger.store, worker_of(victim))
    here.maintain(target, Rewrite(properties={}))
    here.run(appending(target, 11))
    here.run(copying(root, target, copy))
    assert ids(here, copy) == list(range(1, 16))


def test_a_kill_between_the_table_and_the_checkpoint(
    here: LiveEngine, root: Path, start_older: Start, target: Dataset, copy: Dataset, ledger: Filled
) -> None:
    """The second batch is written and Spark does not know it: its rows come again, and are recognised."""
    here.run(appending(target, 1))
    here.run(copying(root, target, copy))
    here.run(appending(target, 6))
    victim = start_older(key="victim", fault="batch-written:kill")
    assert isinstance(victim.start_job(copying(root, target, copy)).answer(), EngineLost)
    end_leases(ledger.store, worker_of(victim))
    here.run(appending(target, 11))
    here.run(copying(root, target, copy))
    assert ids(here, copy) == list(range(1, 16))

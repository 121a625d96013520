"""Writes to Paimon tables: sealed one by one, committed together, each once, whatever is killed or late."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from catchment.errors import EngineLost
from catchment.plan.model import Dataset
from tests.concurrency.waiting import await_sleep, worker_of
from tests.ledgers import Filled, describe, end_leases, forget_engine, forget_tail, packed_lines
from tests.spark.lake import HERE, LiveEngine, by, writing
from tests.spark.paimon.jobs import appending, await_sealed, ids, keyed, lease_held, snapshots, with_output

pytestmark = pytest.mark.slow

Start = Callable[..., LiveEngine]


def test_writes_that_wait_share_a_snapshot_and_a_metastore_that_lost_them_learns_them(
    here: LiveEngine, there: LiveEngine, ledger: Filled, target: Dataset, root: Path
) -> None:
    here.run(appending(target, 0))
    run = f"r-{target.table}"
    jobs = [appending(target, 10 * n, f"j{n}", rows=n) for n in (1, 2, 3)]
    with lease_held(ledger, target, root):
        sent = [(here, there)[n % 2].start_job(job, run=run) for n, job in enumerate(jobs)]
        await_sealed(ledger, target, 3)
    assert [pending.done()[0].snapshot_id for pending in sent] == ["2", "2", "2"]
    [_, shared] = snapshots(here, target)
    assert sorted((each["write_id"], each["rows"]) for each in shared["writes"]) == [
        (f"{run}/j{n}/out", n) for n in (1, 2, 3)
    ]
    assert (shared["added_rows"], shared["operation"], shared["run_id"]) == (6, "append", run)
    expected = [*range(5), 10, 20, 21, 30, 31, 32]
    assert ids(there, target) == expected
    # An older copy of the metastore gives out the same seals again: new writes get in, old ones not a second time.
    lost = [f"{run}/j{n}/out" for n in (1, 2, 3)]
    forget_tail(ledger.store, target.address, lost)
    again = here.start_job(jobs[1], run=run, number=2)
    assert again.done()[0].rows == 2
    assert "metastore-behind" in str([note.data for note in again.notes])
    here.run(appending(target, 100, rows=1))
    assert ids(here, target) == [*expected, 100]
    assert ledger.states(*lost) == ["committed"] * 3


def test_keys_nulls_and_functions_that_are_missing_write_nothing(here: LiveEngine, target: Dataset) -> None:
    sql = "SELECT id, id * 2 AS amount, 'x' AS name FROM range(3)"
    missing = here.fail(keyed(sql, target, "ident"))
    assert (missing.code, missing.where.line if missing.where else None) == ("column-not-found", 40)
    bare = here.fail(keyed(sql, target, merge_engine="aggregation", fields__amount__aggregate_function="sum"))
    assert (bare.code, bare.where) == ("aggregation-without-function", HERE)
    assert "name" in bare.message
    assert str(target.table) not in str(here.inspect("tables", target))
    here.run(keyed(sql, target))
    null = here.fail(keyed("SELECT IF(id = 2, NULL, id) AS id, id AS amount, 'y' AS name FROM range(3)", target))
    assert (null.code, null.where) == ("null-in-required-column", HERE)
    other = here.fail(keyed(sql, target, "name"))
    assert (other.code, other.where.line if other.where else None) == ("primary-key-differs", 40)
    assert here.rows(f"SELECT * FROM {target.identifier} ORDER BY id") == [(n, 2 * n, "x") for n in range(3)]
    assert here.inspect("table", target)["properties"]["write-only"] == "true"
    parted = replace(target, address=f"{target.address}-parted", table=f"{target.table}parted")
    nowhere = with_output(
        keyed("SELECT id, IF(id = 2, NULL, 'a') AS day FROM range(3)", parted, "id", "day"),
        partitions=(by("identity", "day"),),
    )
    null = here.fail(nowhere)
    assert (null.code, null.where) == ("null-in-required-column", HERE)
    assert str(parted.table) not in str(here.inspect("tables", parted))


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_late_sender_commits_nothing_that_another_has_committed(
    here: LiveEngine, ledger: Filled, start_older: Start, target: Dataset, mode: str
) -> None:
    here.run(appending(target, 0))
    sleeper = start_older(key="sleeper", fault="before-swap:stop")
    sleeper.ready()
    slow = sleeper.start_job(writing("SELECT id FROM range(5, 10)", target, name="slow", mode=mode))
    await_sleep(worker_of(sleeper))
    end_leases(ledger.store, worker_of(sleeper))
    here.run(appending(target, 10))
    os.kill(worker_of(sleeper), signal.SIGCONT)
    [report] = slow.done()
    assert (report.rows, ids(here, target)) == (5, list(range(15)) if mode == "append" else list(range(5, 15)))
    assert sum(len(each["write_ids"]) for each in snapshots(here, target)) == 3


def test_an_answer_that_is_lost_is_no_second_write(start_older: Start, target: Dataset) -> None:
    deaf = start_older(key="deaf", fault="swap-applied:lose")
    [report] = deaf.run(appending(target, 0))
    assert (report.rows, report.snapshot_id, ids(deaf, target)) == (5, "1", list(range(5)))


def test_a_history_that_has_expired_is_no_proof_that_a_write_is_lost(
    here: LiveEngine, ledger: Filled, start_older: Start, target: Dataset
) -> None:
    here.run(appending(target, 0))
    run = f"r-{target.table}"
    victim = start_older(key="victim", fault="swap-applied:kill")
    assert isinstance(victim.start_job(appending(target, 5, "lost"), run=run).answer(), EngineLost)
    end_leases(ledger.store, worker_of(victim))
    here.ask(f"INSERT INTO {target.identifier} VALUES (10L)")
    for number in (1, 2):
        (Path(here.inspect("table", target)["location"]) / "snapshot" / f"snapshot-{number}").unlink()
    (Path(here.inspect("table", target)["location"]) / "snapshot" / "EARLIEST").write_text("3")
    forget_engine(ledger.store, ledger.find(f"{run}/lost/out").intent.owner)
    [done] = here.recover(target)
    assert (done["published"], done["refused"]) == ([f"{run}/lost/out"], [])
    assert ids(here, target) == list(range(11))


def test_a_write_that_cannot_be_read_is_set_aside_and_does_not_hold_up_the_others(
    here: LiveEngine, ledger: Filled, target: Dataset, root: Path
) -> None:
    here.run(appending(target, 0))
    run = f"r-{target.table}"
    with lease_held(ledger, target, root):
        sent = [here.start_job(appending(target, 10 * n, f"j{n}"), run=run) for n in range(1, 5)]
        await_sealed(ledger, target, 4)
        describe(ledger, f"{run}/j2/out", "????")
        good = ledger.find(f"{run}/j3/out").contents
        assert good is not None
        describe(ledger, f"{run}/j3/out", packed_lines('{"messages": "AAAA", "version": 3, "written": 9e9}'))
    failed = [n for n, pending in enumerate(sent, start=1) if type(pending.answer()).__name__ == "Failed"]
    assert failed == [2, 3]
    assert {id // 10 for id in ids(here, target)} == {0, 1, 4}
    assert ledger.ledger.count_pending(target.address) == 0


@pytest.mark.parametrize(("part", "fails"), [(0, True), (1, False)])
def test_an_overwrite_that_must_not_replace_what_others_committed(
    here: LiveEngine, start_older: Start, target: Dataset, part: int, *, fails: bool
) -> None:
    parts = (by("identity", "part"),)
    here.run(writing("SELECT id, CAST(id % 2 AS INT) AS part FROM range(4)", target, mode="append", partitions=parts))
    sleeper = start_older(key="sleeper", fault="before-sealed:stop")
    sleeper.ready()
    overwrite = writing("SELECT 9L AS id, 0 AS part", target, mode="overwrite-partitions", partitions=parts)
    slow = sleeper.start_job(with_output(overwrite, conflict="fail"))
    await_sleep(worker_of(sleeper))
    here.run(writing(f"SELECT 7L AS id, {part} AS part", target, mode="append", partitions=parts))
    os.kill(worker_of(sleeper), signal.SIGCONT)
    if fails:
        assert slow.failed().code == "partitions-changed"
    else:
        slow.done()
    assert ids(here, target) == ([0, 1, 2, 3, 7] if fails else [1, 3, 7, 9])


def test_a_late_sender_commits_nothing_that_was_refused(
    here: LiveEngine, ledger: Filled, start_older: Start, target: Dataset
) -> None:
    here.run(keyed("SELECT id, 'old' AS v FROM range(3)", target))
    sleeper = start_older(key="sleeper", fault="before-swap:stop")
    sleeper.ready()
    run = f"r-{target.table}"
    late = sleeper.start_job(keyed("SELECT id, 'new' AS v FROM range(3)", target, name="late"), run=run)
    await_sleep(worker_of(sleeper))
    end_leases(ledger.store, worker_of(sleeper))
    here.ask(f"ALTER TABLE {target.identifier} SET TBLPROPERTIES ('bucket' = '3')")
    [done] = here.recover(target)
    assert [each["code"] for each in done["refused"]] == ["schema-changed"]
    assert [each["added_rows"] for each in snapshots(here, target)] == [3, 0]  # the second one keeps the late swap out
    os.kill(worker_of(sleeper), signal.SIGCONT)
    late.failed()  # Paimon writes no new number of buckets beside an old one
    assert here.rows(f"SELECT * FROM {target.identifier} ORDER BY id") == [(n, "old") for n in range(3)]

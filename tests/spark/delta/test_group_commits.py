"""Appends to Delta tables: sealed one by one, committed together, each once, whatever is killed or changed between."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from catchment.engine.protocol import Failed
from catchment.errors import EngineLost
from catchment.plan.model import Dataset, JobPlan
from catchment.store.descriptors import packed
from catchment.store.writes import Entry
from tests.concurrency.waiting import await_sleep, until, worker_of
from tests.ledgers import Filled, describe, end_leases, forget_engine, packed_lines
from tests.matrices import exhaustive
from tests.spark.lake import UNPREPARED, LiveEngine, delta_depot, writing

Start = Callable[..., LiveEngine]
LOST_AT = ("before-data-written", "data-written", "before-sealed")
KEPT_AT = ("sealed", "lease-taken", "before-swap", "swap-applied", "before-marked", "marked")
OFTEN = ("data-written", "sealed", "swap-applied")


def appending(target: Dataset, first: int, name: str = "job", rows: int = 5) -> JobPlan:
    return writing(f"SELECT id FROM range({first}, {first + rows}, 1, 1)", target, name=name, mode="append")


def ids(engine: LiveEngine, target: Dataset) -> list[int]:
    return [row[0] for row in engine.rows(f"SELECT id FROM {target.identifier} ORDER BY id")]


def versions(engine: LiveEngine, target: Dataset) -> list[dict[str, Any]]:
    return list(engine.inspect("snapshots", target)["snapshots"])


@contextmanager
def lease_held(ledger: Filled, target: Dataset) -> Iterator[None]:
    """Hold the lease of a table: writers seal, and nobody publishes."""
    lease = ledger.store.leases.acquire(f"table/{target.path}", "somebody who takes his time", 600.0)
    try:
        yield
    finally:
        ledger.store.leases.release(lease)


def await_sealed(ledger: Filled, target: Dataset, count: int) -> None:
    until(lambda: ledger.ledger.count_pending(target.address) >= count)


def killed(
    point: str, job: JobPlan, target: Dataset, ledger: Filled, place: Path, start_engine: Start
) -> tuple[str, Entry]:
    """Let an engine die in the middle of a write; returns the run and what the ledger has of it."""
    run = f"r-{target.table}"
    victim = start_engine(delta_depot(place), key="victim", fault=f"{point}:kill")
    assert isinstance(victim.start_job(job, run=run).answer(), EngineLost)
    end_leases(ledger.store, worker_of(victim))
    write = ledger.find(f"{run}/{job.name}/out")
    forget_engine(ledger.store, write.intent.owner)
    return run, write


def test_writes_that_wait_share_a_version_and_each_is_found_in_it(
    here: LiveEngine, there: LiveEngine, ledger: Filled, target: Dataset
) -> None:
    here.run(appending(target, 0))
    run = f"r-{target.table}"
    jobs = [appending(target, 10 * n, f"j{n}", rows=n) for n in (1, 2, 3)]
    with lease_held(ledger, target):
        sent = [(here, there)[n % 2].start_job(job, run=run) for n, job in enumerate(jobs)]
        await_sealed(ledger, target, 3)
    done = [pending.done() for pending in sent]
    assert [(report.rows, report.files, report.snapshot_id) for [report] in done] == [(n, 1, "2") for n in (1, 2, 3)]
    assert ids(here, target) == [*range(5), 10, 20, 21, 30, 31, 32]
    [_, _, shared] = versions(here, target)
    assert sorted((each["write_id"], each["rows"]) for each in shared["writes"]) == [
        (f"{run}/j{n}/out", n) for n in (1, 2, 3)
    ]
    assert (shared["added_rows"], shared["operation"], shared["run_id"]) == (6, "write", run)
    ledger.lose(f"{run}/j2/out")  # the log tells what each of them was
    assert here.run(jobs[1], run=run, number=2) == done[1]
    assert ids(there, target) == [*range(5), 10, 20, 21, 30, 31, 32]


@pytest.mark.slow
@pytest.mark.parametrize("point", [*OFTEN, *exhaustive(*(each for each in (*LOST_AT, *KEPT_AT) if each not in OFTEN))])
def test_killed_at_every_point_an_append_is_there_once(
    here: LiveEngine, ledger: Filled, place: Path, start_engine: Start, target: Dataset, point: str
) -> None:
    here.run(appending(target, 0))
    lost = appending(target, 5, "lost")
    run, write = killed(point, lost, target, ledger, place, start_engine)
    [done] = here.recover(target)
    kept, marked = point in KEPT_AT, point == "marked"
    assert (done["published"], done["error"]) == ([write.write_id] if kept and not marked else [], None)
    assert (done["abandoned"], done["removed"], done["kept"]) == ([] if kept else [write.write_id], [], [])
    assert ids(here, target) == list(range(10 if kept else 5))
    [report] = here.run(lost, run=run, number=2)
    assert (report.rows, ids(here, target)) == (5, list(range(10)))
    here.recover(target)
    assert ledger.left(target.address) == []


@pytest.mark.slow
@pytest.mark.parametrize("next_one", ["append", "overwrite"])
def test_the_next_writer_publishes_what_was_promised_before(
    here: LiveEngine, ledger: Filled, place: Path, start_engine: Start, target: Dataset, next_one: str
) -> None:
    here.run(appending(target, 0))
    killed("sealed", appending(target, 5, "lost"), target, ledger, place, start_engine)
    here.run(writing("SELECT id FROM range(20, 22)", target, mode=next_one))
    assert ids(here, target) == ([*range(10), 20, 21] if next_one == "append" else [20, 21])


@pytest.mark.slow
def test_two_who_commit_the_same_writes(
    here: LiveEngine, ledger: Filled, place: Path, start_engine: Start, target: Dataset
) -> None:
    here.run(appending(target, 0))
    sleeper = start_engine(delta_depot(place), key="sleeper", fault="before-swap:stop")
    sleeper.ready()
    slow = sleeper.start_job(appending(target, 5, "slow"))
    await_sleep(worker_of(sleeper))
    end_leases(ledger.store, worker_of(sleeper))
    here.run(appending(target, 10))
    os.kill(worker_of(sleeper), signal.SIGCONT)
    [report] = slow.done()
    assert (report.rows, ids(here, target)) == (5, list(range(15)))
    assert sum(len(each["write_ids"]) for each in versions(here, target)) == 3


@pytest.mark.slow
def test_an_answer_that_is_lost_is_no_second_write(place: Path, start_engine: Start, target: Dataset) -> None:
    deaf = start_engine(delta_depot(place), key="deaf", fault="swap-applied:lose")
    [report] = deaf.run(appending(target, 0))
    assert (report.rows, report.snapshot_id, ids(deaf, target)) == (5, "1", list(range(5)))


@pytest.mark.slow
def test_a_table_that_grows_takes_what_was_sealed_before(here: LiveEngine, ledger: Filled, target: Dataset) -> None:
    here.run(appending(target, 0))
    with lease_held(ledger, target):
        pending = here.start_job(appending(target, 5))
        await_sealed(ledger, target, 1)
        here.ask(f"ALTER TABLE {target.identifier} ADD COLUMN extra STRING")
    pending.done()
    assert here.rows(f"SELECT count(*), count(extra) FROM {target.identifier}") == [(10, 0)]
    assert not [note for note in pending.notes if note.event == "warning"]


@pytest.mark.slow
def test_rows_are_written_again_for_a_table_that_does_not_take_them_any_more(
    here: LiveEngine, ledger: Filled, target: Dataset
) -> None:
    here.run(appending(target, 0))
    with lease_held(ledger, target):
        fits, breaks = (here.start_job(appending(target, first)) for first in (5, 100))
        await_sealed(ledger, target, 2)
        here.ask(f"ALTER TABLE {target.identifier} ADD CONSTRAINT small CHECK (id < 50)")
    fits.done()
    assert "trying again" in str([note.data for note in fits.notes if note.event == "warning"])
    assert breaks.failed().code == "write-failed"
    assert ids(here, target) == list(range(10))


@pytest.mark.slow
def test_a_table_that_was_replaced_refuses_what_was_sealed_for_the_other(
    here: LiveEngine, there: LiveEngine, ledger: Filled, place: Path, start_java: Start, target: Dataset
) -> None:
    victim = start_java(delta_depot(place), key="victim", fault="sealed:kill", conf=UNPREPARED)
    assert isinstance(victim.start_job(appending(target, 0, "lost"), run=f"r-{target.table}").answer(), EngineLost)
    end_leases(ledger.store, worker_of(victim))
    forget_engine(ledger.store, ledger.find(f"r-{target.table}/lost/out").intent.owner)
    shutil.rmtree(str(target.path))
    here.ask(f"CREATE TABLE {target.identifier} (id STRING) USING delta")
    here.ask(f"INSERT INTO {target.identifier} VALUES ('text')")
    [done] = there.recover(target)
    assert [each["code"] for each in done["refused"]] == ["table-replaced"]
    assert here.rows(f"SELECT id FROM {target.identifier}") == [("text",)]


@pytest.mark.slow
@pytest.mark.exhaustive
def test_files_that_were_vacuumed_while_they_waited_are_missed(
    here: LiveEngine, ledger: Filled, place: Path, start_engine: Start, target: Dataset
) -> None:
    here.run(appending(target, 0))
    _, write = killed("sealed", appending(target, 5, "lost"), target, ledger, place, start_engine)
    assert write.contents is not None
    [file] = [descriptor["add"] for descriptor in write.contents.descriptors if "add" in descriptor]
    Path(str(target.path), file["path"]).unlink()
    describe_anew(ledger, write, modificationTime=0)  # as if it had waited for long
    [done] = here.recover(target)
    assert [(each["write_id"], each["code"]) for each in done["refused"]] == [(write.write_id, "files-vanished")]
    assert ids(here, target) == list(range(5))


@pytest.mark.slow
def test_writes_that_cannot_be_committed_are_set_aside_and_do_not_hold_up_the_others(
    here: LiveEngine, ledger: Filled, target: Dataset
) -> None:
    """One that Delta refuses, one that is no action at all, and rows of the ledger that nobody can read."""
    here.run(appending(target, 0))
    run, spoilt = f"r-{target.table}", (2, 3, 5, 6)
    with lease_held(ledger, target):
        sent = [here.start_job(appending(target, 10 * n, f"j{n}"), run=run) for n in range(1, 8)]
        await_sealed(ledger, target, 7)
        describe_anew(ledger, ledger.find(f"{run}/j2/out"), partitionValues={"nowhere": "1"})
        describe_anew(ledger, ledger.find(f"{run}/j3/out"), size="many")
        describe(ledger, f"{run}/j5/out", "????")
        describe(ledger, f"{run}/j6/out", packed_lines('{"add": {}}'))
    answers = [pending.answer() for pending in sent]
    failed = [answer for answer in answers if isinstance(answer, Failed)]
    assert [n for n, answer in enumerate(answers, start=1) if isinstance(answer, Failed)] == [*spoilt]
    assert {(answer.code, answer.retryable) for answer in failed} == {("write-set-aside", False)}
    assert {id // 10 for id in ids(here, target)} == {0, 1, 4, 7}
    assert ledger.ledger.count_pending(target.address) == 0
    [done] = here.recover(target)
    assert sorted(each["write_id"] for each in done["refused"]) == [f"{run}/j{n}/out" for n in spoilt]
    describe_anew(ledger, ledger.find(f"{run}/j3/out"), size=1)
    ledger.store.decisions.retry(f"{run}/j3/out")
    for n in (2, 5, 6):
        ledger.store.decisions.drop(f"{run}/j{n}/out")
    [done] = here.recover(target)
    assert (done["published"], done["refused"]) == ([f"{run}/j3/out"], [])
    assert ledger.states(*(f"{run}/j{n}/out" for n in (2, 3, 5, 6))) == ["abandoned", "committed", *["abandoned"] * 2]


def describe_anew(ledger: Filled, write: Entry, **changes: Any) -> None:
    """Change what the ledger says of the files of a sealed write."""
    assert write.contents is not None
    described = tuple(
        {"add": {**each["add"], **changes}} if "add" in each else each for each in write.contents.descriptors
    )
    describe(ledger, write.write_id, packed(described))


@pytest.mark.slow
def test_the_older_line_of_spark_appends_and_publishes_for_the_newer(
    here: LiveEngine, ledger: Filled, place: Path, start_engine: Start, start_spark_3: Start, target: Dataset
) -> None:
    here.run(appending(target, 0))
    _, write = killed("sealed", appending(target, 5, "lost"), target, ledger, place, start_engine)
    older = start_spark_3(delta_depot(place), key="older")
    [report] = older.run(appending(target, 10))
    assert (report.rows, ids(here, target)) == (5, list(range(15)))
    assert ledger.states(write.write_id) == ["committed"]
    with lease_held(ledger, target):
        pending = older.start_job(appending(target, 15))
        await_sealed(ledger, target, 1)
        mine = here.start_job(appending(target, 20))
        await_sealed(ledger, target, 2)
    assert [each.done()[0].rows for each in (pending, mine)] == [5, 5]
    assert ids(older, target) == list(range(25))

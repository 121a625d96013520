"""Compaction among writers: no writer fails or waits for it, and no row is lost or doubled."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from catchment.engine.protocol import Done, Facts, Failed
from catchment.errors import EngineLost
from catchment.plan.model import Dataset, JobPlan, Rewrite, RewriteManifests
from catchment.project.model import Depot, Engine, Project, Thresholds, Upkeep
from catchment.run.compaction import lake_engines
from catchment.run.compaction.compaction_job import compact
from tests.concurrency.invariants import check
from tests.concurrency.test_lost_engines import Launching
from tests.concurrency.waiting import until, worker_of
from tests.ledgers import Filled, end_leases
from tests.matrices import exhaustive
from tests.spark.hosts import Host
from tests.spark.lake import (
    SMALL,
    LiveEngine,
    by,
    delta_depot,
    delta_table,
    job,
    lake_depot,
    maintaining,
    merging,
    output,
    paimon_depot,
    paimon_table,
    step,
    table,
    writing,
)
from tests.spark.overtaking import at_gate, gate

EVERYTHING = Rewrite(properties={"rewrite-all": "true"})
PART = (by("identity", "part"),)


def put(target: Dataset, mark: str, part: int, **more: Any) -> JobPlan:
    """A job with three rows of one partition."""
    return writing(f"SELECT '{mark}' AS mark, {part} AS part FROM range(3)", target, name=mark, partitions=PART, **more)


def marks(engine: LiveEngine, target: Dataset) -> list[tuple[Any, ...]]:
    return engine.rows(f"SELECT part, mark, count(*) FROM {target.identifier} GROUP BY ALL ORDER BY ALL")


@pytest.mark.parametrize("theirs", [pytest.param(None, marks=pytest.mark.slow), 0, 1])
@pytest.mark.slow
def test_an_overwrite_is_overtaken_by_changes_and_not_by_compaction(
    engine: LiveEngine, fresh: str, theirs: int | None
) -> None:
    target = table(fresh)
    for part in (0, 0, 1):
        engine.run(put(target, "old", part, mode="append"))
    rows = step("rows", "SELECT 'ours' AS mark, 0 AS part FROM gate, range(3) WHERE seen > 0")
    replacing = output("rows", target, mode="overwrite-partitions", conflict="fail")
    pending = engine.start_job(job(replacing, steps=[gate(target), rows], name="waiting"))
    with at_gate(engine, target):
        engine.run(maintaining(target, EVERYTHING))
        if theirs is not None:
            engine.run(put(target, "theirs", theirs, mode="append"))
            engine.run(maintaining(target, EVERYTHING))
    if theirs == 0:
        assert pending.failed().code == "partitions-changed"
        assert marks(engine, target) == [(0, "old", 6), (0, "theirs", 3), (1, "old", 3)]
    else:
        pending.done()
        kept = [(0, "ours", 3), (1, "old", 3), (1, "theirs", 3)]
        assert marks(engine, target) == (kept if theirs == 1 else kept[:2])
    check(engine, fresh)


@pytest.mark.slow
@pytest.mark.exhaustive  # a compaction waits for a minute, in which another one has to end
@pytest.mark.parametrize("format", ["iceberg", "delta"])
def test_a_merge_under_way_goes_first_and_needs_one_attempt(
    engine: LiveEngine, elsewhere: Host, filled: Filled, root: Path, fresh: str, format: str
) -> None:
    is_delta = format == "delta"
    target, other = (delta_table(name, root) if is_delta else table(name) for name in (fresh, f"{fresh}_other"))
    # Iceberg refuses to copy files for rows that wait for somebody: they are not deterministic.
    properties = {} if is_delta else {"write.merge.mode": "merge-on-read"}
    for each in (target, other):
        for mark in ("a", "b"):
            engine.run(put(each, mark, 0, mode="append", properties=properties))
    rewrite, change = Rewrite() if is_delta else EVERYTHING, "MATCHED THEN UPDATE SET mark = 'changed'"
    slow = merging("SELECT 'a' AS mark FROM gate WHERE seen > 0", target, "old.mark = new.mark", change)
    pending = engine.start_job(replace(slow, steps=(gate(target), *slow.steps), side_effects=True))
    with at_gate(engine, target):
        waiting = elsewhere.start_maintenance(target, rewrite)
        until(lambda: any(each.mode == "maintain" for each in filled.store.activity.of_table(target.address, "")))
        elsewhere.maintain(other, rewrite)  # begun later, and done
        assert not waiting.is_answered()
    pending.done()
    assert "trying again" not in str([note.data for note in pending.notes if note.event == "warning"])
    answer = waiting.answer()
    assert isinstance(answer, Facts)
    assert answer.data["rewritten_files"] > 0
    assert marks(engine, target) == [(0, "b", 3), (0, "changed", 3)]


@pytest.mark.slow
def test_writers_of_two_engines_while_a_third_compacts(
    engine: LiveEngine, root: Path, start_engine: Callable[..., LiveEngine], fresh: str
) -> None:
    target = table(fresh)
    there, third = (start_engine(lake_depot(root), key=key) for key in ("there", "third"))
    for part in (0, 1, 2):
        engine.run(put(target, "old", part, mode="append"))
    done, rewritten = Event(), Event()

    def compact() -> None:
        while not done.is_set():
            answer = third.start_job(maintaining(target, EVERYTHING)).answer()
            if isinstance(answer, Done):
                rewritten.set()
            else:  # it may lose against writers again and again, and they never do
                assert isinstance(answer, Failed)
                assert answer.code == "maintenance-overtaken"
            third.start_job(maintaining(target, RewriteManifests())).answer()

    with ThreadPoolExecutor() as pool:
        compacting = pool.submit(compact)
        try:
            rounds = _write_while(lambda n: n < 8 or not rewritten.is_set(), engine, there, target)
        finally:
            done.set()
        compacting.result()
    appended = [(0, f"{who}{number}", 3) for who in "ab" for number in range(rounds)]
    merged = [(2, f"m{number}", 1) for number in range(0, rounds, 4)]
    newest = (1, f"r{rounds - 1}", 3)
    assert marks(engine, target) == sorted([(0, "old", 3), *appended, newest, *merged, (2, "old", 3)])
    operations = [each["operation"] for each in engine.inspect("snapshots", target)["snapshots"]]
    assert "replace" in operations
    check(engine, fresh)


def _write_while(goes_on: Callable[[int], bool], engine: LiveEngine, there: LiveEngine, target: Dataset) -> int:
    """Appends, overwrites and merges, round after round; returns how many rounds there were."""
    upsert = "MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    number = 0
    while goes_on(number):
        sent = [
            engine.start_job(put(target, f"a{number}", 0, mode="append")),
            there.start_job(put(target, f"b{number}", 0, mode="append")),
            there.start_job(put(target, f"r{number}", 1, mode="overwrite-partitions", conflict="fail")),
        ]
        if number % 4 == 0:
            sql = f"SELECT 'm{number}' AS mark, 2 AS part"
            sent.append(engine.start_job(merging(sql, target, "old.mark = new.mark", upsert, name="merging")))
        for pending in sent:
            pending.done()
        number += 1
    return number


def test_a_job_waits_for_another_compactor_of_its_table(engine: LiveEngine, filled: Filled, fresh: str) -> None:
    target = table(fresh)
    engine.run(put(target, "old", 0, mode="append"))
    lease = filled.store.leases.acquire(f"compact/{target.address}", "another compactor", 600.0)
    waiting = engine.start_job(maintaining(target, EVERYTHING))
    engine.run(put(target, "new", 0, mode="append"))  # writers do not wait
    assert not waiting.is_answered()
    filled.store.leases.release(lease)
    waiting.done()
    assert marks(engine, target) == [(0, "new", 3), (0, "old", 3)]


def of_files(target: Dataset, root: Path) -> set[Path]:
    """The data files of a table on this machine, whether it knows them or not."""
    place = Path(target.path) if target.path else root / target.depot / f"{target.namespace}.db" / str(target.table)
    return {file for kind in ("*.parquet", "*.orc") for file in place.rglob(kind)}


@pytest.mark.slow
@pytest.mark.parametrize("format", ["delta", *exhaustive("paimon")])
def test_a_compaction_that_is_killed_in_the_middle_loses_nothing(
    request: pytest.FixtureRequest,
    root: Path,
    start_java: Callable[..., LiveEngine],
    filled: Filled,
    fresh: str,
    format: str,
) -> None:
    """A real engine with its Java, killed as soon as it has written the first of many new files."""
    is_delta = format == "delta"
    live: LiveEngine = request.getfixturevalue("engine" if is_delta else "older")
    target = delta_table(fresh, root) if is_delta else paimon_table(fresh)
    marks_before = [f"m{number}" for number in range(3)]
    for mark in marks_before:
        live.run(spread(target, mark))
    before, head = of_files(target, root), live.health(target).head
    depot = delta_depot(root) if is_delta else paimon_depot(root)
    victim = start_java(depot, spark="4.1" if is_delta else "3.5", master="local[1]", conf=SMALL)
    victim.ready()
    pending = victim.start_maintenance(target, Rewrite())
    until(lambda: bool(of_files(target, root) - before))
    os.killpg(worker_of(victim), signal.SIGKILL)
    assert isinstance(pending.answer(), EngineLost)
    end_leases(filled.store, worker_of(victim))
    assert counted(live, target) == dict.fromkeys(marks_before, PARTS)
    many = live.health(target)
    assert many.files > PARTS, "it was not in the middle"
    assert not is_delta or many.head == head  # one commit for all partitions
    live.run(spread(target, "later"))
    live.maintain(target, Rewrite())
    assert live.health(target).files == PARTS
    assert counted(live, target) == dict.fromkeys((*marks_before, "later"), PARTS)


PARTS = 16
"""Partitions, one new file for each: the first is there long before the last."""


def spread(target: Dataset, mark: str) -> JobPlan:
    """A job with one row in each of many partitions."""
    sql = f"SELECT '{mark}' AS mark, CAST(id AS INT) AS part FROM range({PARTS})"
    return writing(sql, target, name=mark, mode="append", partitions=PART)


def counted(engine: LiveEngine, target: Dataset) -> dict[str, int]:
    """The number of rows by mark."""
    return dict(engine.rows(f"SELECT mark, count(*) FROM {target.identifier} GROUP BY mark"))


@pytest.mark.slow
@pytest.mark.parametrize("format", ["delta", "paimon"])
@pytest.mark.parametrize("point", ["own-commit-applied", *exhaustive("before-own-commit")])
def test_a_compaction_that_is_killed_around_its_commit_is_done_once(
    request: pytest.FixtureRequest, root: Path, filled: Filled, fresh: str, format: str, point: str
) -> None:
    """The job runs again after the kill; if the table is compacted already, there is nothing left to do."""
    is_delta = format == "delta"
    live: LiveEngine = request.getfixturevalue("engine" if is_delta else "older")
    start = request.getfixturevalue("start_engine" if is_delta else "start_older")
    target = delta_table(fresh, root) if is_delta else paimon_table(fresh)
    for mark in ("a", "b"):
        live.run(put(target, mark, 0, mode="append"))
    compacting = maintaining(target, Rewrite())
    victim = start(key="victim", fault=f"{point}:kill")
    assert isinstance(victim.start_job(compacting, run=fresh).answer(), EngineLost)
    end_leases(filled.store, worker_of(victim))
    assert (live.health(target).files == 1) == (point == "own-commit-applied")
    live.run(compacting, run=fresh, number=2)
    assert live.health(target).files == 1
    assert marks(live, target) == [(0, "a", 3), (0, "b", 3)]


@pytest.mark.slow
@pytest.mark.parametrize("point", ["before-own-commit", *exhaustive("own-commit-applied")])
def test_a_compaction_whose_engine_is_killed_in_mid_write_goes_on_with_another_one(
    elsewhere: Host, filled: Filled, root: Path, tmp_path: Path, fresh: str, point: str
) -> None:
    target = delta_table(fresh, root)
    for mark, part in (("a", 0), ("b", 0), ("a", 1), ("b", 1)):
        elsewhere.run(put(target, mark, part, mode="append"))
    project = of_guests(elsewhere, target, delta_depot(root), tmp_path)
    launch, told = Launching(elsewhere, f"{point}:kill"), list[str]()
    done = compact(project, target.address, tell=told.append, launch=launch)
    assert (launch.started, done["failed"], done["compactions"]) == (2, 0, 2)
    assert any("error[engine-lost]" in line for line in told)
    assert elsewhere.health(target).files == 2
    assert marks(elsewhere, target) == [(0, "a", 3), (0, "b", 3), (1, "a", 3), (1, "b", 3)]


@pytest.mark.slow
def test_a_compaction_that_cannot_finish_soon_after_it_is_stopped_is_cancelled(
    elsewhere: Host, filled: Filled, root: Path, tmp_path: Path, fresh: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real engine, in a rewrite that waits for a merge which does not end."""
    monkeypatch.setattr(lake_engines, "FINISH_SECONDS", 0.0)
    monkeypatch.setattr(lake_engines, "LOOK_SECONDS", 0.05)
    target = table(fresh)
    for mark in ("a", "b"):
        elsewhere.run(put(target, mark, 0, mode="append"))
    before = elsewhere.health(target)
    project = of_guests(elsewhere, target, lake_depot(root), tmp_path)
    stop, told = Event(), list[str]()
    merging_elsewhere = filled.store.leases.acquire(f"rows/{target.address}", "a merge", 600.0)
    with ThreadPoolExecutor() as pool:
        launch = Launching(elsewhere, "")
        compacting = pool.submit(compact, project, target.address, stop=stop, tell=told.append, launch=launch)
        until(lambda: target.target in filled.ledger.unfinished())
        stop.set()
        done = compacting.result(60)
    assert (done["failed"], done["compactions"]) == (1, 0)
    assert [("is cancelled" in line, "error[cancelled]" in line) for line in told[-2:]] == [
        (True, False),
        (False, True),
    ]
    assert filled.store.leases.holder(f"compact/{target.target}") is None
    assert target.target not in filled.ledger.unfinished()
    filled.store.leases.release(merging_elsewhere)
    assert elsewhere.health(target) == before


def of_guests(host: Host, target: Dataset, depot: Depot, place: Path) -> Project:
    """A project that compacts a table as soon as it has two small files."""
    upkeep = {target.address: Upkeep(Thresholds(small_files=2))}
    engines = {"default": Engine("default", master="local[2]")}
    return Project(place, None, host.plan.metastore, {target.depot: depot}, engines, maintain=upkeep)

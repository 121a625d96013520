"""Delta tables on S3: two engines commit at the same time, and nothing is lost or there twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from catchment.engine import packages
from catchment.engine.protocol import Facts
from catchment.plan.model import Dataset, JobPlan, Rewrite
from tests.concurrency.waiting import until
from tests.servers.s3 import S3Server
from tests.spark.lake import LiveEngine, maintaining, writing
from tests.spark.racing import race
from tests.stores.lakes import Lake

JOBS, ROUNDS = 8, 20


def appending(target: Dataset, number: int) -> JobPlan:
    sql = f"SELECT id FROM range({10 * number}, {10 * number + 10})"
    return writing(sql, target, name=f"job-{number}", mode="append")


def ids(engine: LiveEngine, target: Dataset) -> list[int]:
    return [row[0] for row in engine.rows(f"SELECT id FROM {target.identifier} ORDER BY id")]


@pytest.mark.slow
def test_two_engines_append_at_once_and_a_third_is_killed(on_s3: Lake, tmp_path: Path) -> None:
    target = Dataset("dataos://events:raw/t", "events", "delta", "raw", "t", "s3a://lake/events/raw/t")
    here, there = on_s3.here, on_s3.there
    pending = [(here, there)[n % 2].start_job(appending(target, n)) for n in range(JOBS)]
    last = max(int(each.done()[0].snapshot_id or 0) for each in pending)

    on_s3.kill("swap-applied", appending(target, JOBS), run="r", logs=tmp_path)
    [report] = here.run(appending(target, JOBS), run="r", number=2)
    assert (report.rows, report.snapshot_id) == (10, str(last + 1))
    assert ids(there, target) == list(range(10 * (JOBS + 1)))


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_compaction_takes_the_lease_for_its_commit_alone(on_s3: Lake, tmp_path: Path) -> None:
    target = Dataset("dataos://events:raw/small", "events", "delta", "raw", "small", "s3a://lake/events/raw/small")
    here, there, place = on_s3.here, on_s3.there, str(target.path)
    for number in range(4):
        here.run(appending(target, number))
    many = len(on_s3.files(place))
    with on_s3.ledger() as filled:
        lease = filled.store.leases.acquire(f"table/{place}", "a writer who takes his time", 600.0)
        waiting = here.start_maintenance(target, Rewrite())
        until(lambda: len(on_s3.files(place)) > many)  # it rewrites while others may commit
        assert not waiting.is_answered()
        filled.store.leases.release(lease)
    assert isinstance(waiting.answer(), Facts)
    assert here.health(target).files == 1
    for fault in ("before-swap", "swap-applied"):
        there.run(appending(target, 4))
        there.run(appending(target, 5))
        on_s3.kill(fault, maintaining(target, Rewrite()), run=fault, logs=tmp_path / fault)
        here.maintain(target, Rewrite())
        assert here.health(target).files == 1
    assert ids(here, target) == sorted([*range(60), *range(40, 60)])


@pytest.mark.slow
def test_of_two_commits_of_one_version_s3_refuses_one(on_s3: Lake, store: S3Server, tmp_path: Path) -> None:
    jars = packages.install(on_s3.here.plan, print).jars
    won = race("s3a://lake/raced/t/_delta_log", jars, store.spark_conf(), ROUNDS)
    assert all(one != two for one, two in won)
    log = store.data / "lake" / "raced" / "t" / "_delta_log"
    names = [(log / f"{version:020}.json").read_text() for version in range(ROUNDS)]
    assert names == ["one\n" if one else "two\n" for one, _ in won]

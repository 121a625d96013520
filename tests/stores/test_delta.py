"""Delta tables on S3: two engines commit at the same time, and nothing is lost or there twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from catchment.engine import packages
from catchment.plan.model import Dataset, JobPlan
from tests.servers.s3 import S3Server
from tests.spark.lake import writing
from tests.spark.racing import race
from tests.stores.lakes import Lake

JOBS, ROUNDS = 8, 20


def appending(target: Dataset, number: int) -> JobPlan:
    sql = f"SELECT id FROM range({10 * number}, {10 * number + 10})"
    return writing(sql, target, name=f"job-{number}", mode="append")


@pytest.mark.slow
def test_two_engines_append_at_once_and_a_third_is_killed(on_s3: Lake, tmp_path: Path) -> None:
    target = Dataset("dataos://events:raw/t", "events", "delta", "raw", "t", "s3a://lake/events/raw/t")
    here, there = on_s3.here, on_s3.there
    pending = [(here, there)[n % 2].start_job(appending(target, n)) for n in range(JOBS)]
    last = max(int(each.done()[0].snapshot_id or 0) for each in pending)

    on_s3.kill("swap-applied", appending(target, JOBS), run="r", logs=tmp_path)
    [report] = here.run(appending(target, JOBS), run="r", number=2)
    assert (report.rows, report.snapshot_id) == (10, str(last + 1))
    found = [row[0] for row in there.rows(f"SELECT id FROM {target.identifier} ORDER BY id")]
    assert found == list(range(10 * (JOBS + 1)))


@pytest.mark.slow
def test_of_two_commits_of_one_version_s3_refuses_one(on_s3: Lake, store: S3Server, tmp_path: Path) -> None:
    jars = packages.install(on_s3.here.plan, print).jars
    won = race("s3a://lake/raced/t/_delta_log", jars, store.spark_conf(), ROUNDS)
    assert all(one != two for one, two in won)
    log = store.data / "lake" / "raced" / "t" / "_delta_log"
    names = [(log / f"{version:020}.json").read_text() for version in range(ROUNDS)]
    assert names == ["one\n" if one else "two\n" for one, _ in won]

"""Delta tables on S3, where the store would take two commits of the same version: their writers take turns."""

from __future__ import annotations

from pathlib import Path

import pytest

from catchment.errors import EngineLost
from catchment.plan.model import Dataset, JobPlan
from catchment.project.model import Depot
from tests.servers.s3 import SECRET, S3Server
from tests.spark.lake import UNPREPARED, LiveEngine, writing
from tests.stores.lakes import Start

JOBS = 8


def appending(target: Dataset, number: int) -> JobPlan:
    sql = f"SELECT id FROM range({10 * number}, {10 * number + 10})"
    return writing(sql, target, name=f"job-{number}", mode="append")


@pytest.mark.slow
def test_two_engines_append_at_once_and_a_third_is_killed(store: S3Server, tmp_path: Path, start_engine: Start) -> None:
    depot = Depot("events", "delta", "s3a://lake/events", conf=store.spark_conf())
    target = Dataset("dataos://events:raw/t", "events", "delta", "raw", "t", "s3a://lake/events/raw/t")

    def start(key: str, fault: str = "") -> LiveEngine:
        metastore = f"sqlite:///{tmp_path}/metastore.db"
        return start_engine(depot, key=key, fault=fault, metastore=metastore, secrets=(SECRET,), conf=UNPREPARED)

    here, there = start("here"), start("there")
    pending = [(here, there)[n % 2].start_job(appending(target, n)) for n in range(JOBS)]
    assert sorted(each.done()[0].snapshot_id or 0 for each in pending) == list(range(1, JOBS + 1))

    victim = start("victim", "own-commit-applied:kill")
    assert isinstance(victim.start_job(appending(target, JOBS), run="r").answer(), EngineLost)
    [report] = here.run(appending(target, JOBS), run="r", number=2)
    assert (report.rows, report.snapshot_id) == (10, JOBS + 1)
    found = [row[0] for row in there.rows(f"SELECT id FROM {target.identifier} ORDER BY id")]
    assert found == list(range(10 * (JOBS + 1)))

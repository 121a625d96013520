"""Delta tables on S3, where the store would take two commits of the same version: their writers take turns."""

from __future__ import annotations

from pathlib import Path

import pytest

from catchment.plan.model import Dataset, JobPlan
from tests.spark.lake import writing
from tests.stores.lakes import Lake

JOBS = 8


def appending(target: Dataset, number: int) -> JobPlan:
    sql = f"SELECT id FROM range({10 * number}, {10 * number + 10})"
    return writing(sql, target, name=f"job-{number}", mode="append")


@pytest.mark.slow
def test_two_engines_append_at_once_and_a_third_is_killed(on_s3: Lake, tmp_path: Path) -> None:
    target = Dataset("dataos://events:raw/t", "events", "delta", "raw", "t", "s3a://lake/events/raw/t")
    here, there = on_s3.here, on_s3.there
    pending = [(here, there)[n % 2].start_job(appending(target, n)) for n in range(JOBS)]
    assert sorted(each.done()[0].snapshot_id or 0 for each in pending) == list(range(1, JOBS + 1))

    on_s3.kill("own-commit-applied", appending(target, JOBS), run="r", logs=tmp_path)
    [report] = here.run(appending(target, JOBS), run="r", number=2)
    assert (report.rows, report.snapshot_id) == (10, JOBS + 1)
    found = [row[0] for row in there.rows(f"SELECT id FROM {target.identifier} ORDER BY id")]
    assert found == list(range(10 * (JOBS + 1)))

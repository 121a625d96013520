"""Streams whose checkpoint is in an object store, where every machine of a cluster reaches it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from catchment.plan.model import StreamPlan
from tests.concurrency.invariants import check, ids
from tests.spark.lake import HERE, job, output, step, table, writing
from tests.spark.streaming import following
from tests.stores.lakes import Lake

pytestmark = pytest.mark.slow


def test_a_killed_stream_with_its_checkpoint_on_s3_writes_every_row_once(
    on_s3: Lake, fresh: str, tmp_path: Path
) -> None:
    source, place = table(f"{fresh}_source"), f"lake/checkpoints/{fresh}"
    for first in (0, 5):
        on_s3.here.run(writing(f"SELECT id FROM range({first}, {first + 5})", source, mode="append"))
    stream = job(
        output("rows", table(fresh), mode="append"),
        inputs=[following(source, **{"streaming-max-files-per-micro-batch": "1"})],
        steps=[step("rows", "SELECT id FROM source")],
        stream=StreamPlan(f"s3a://{place}", trigger="available-now", where=HERE),
    )
    on_s3.kill("batch-written", stream, run=f"r-{fresh}", logs=tmp_path)
    on_s3.there.run(stream)
    assert ids(on_s3.here, fresh) == list(range(10))
    on_s3.there.run(writing("SELECT 10L AS id", source, mode="append"))
    [report] = on_s3.here.run(stream)
    assert (report.rows, ids(on_s3.there, fresh)) == (1, list(range(11)))
    assert {each.name for each in (on_s3.disk / place).iterdir()} == {"catchment.json", "rows"}
    assert on_s3.here.fail(replace(stream, name="other")).code == "checkpoint-of-another-query"
    check(on_s3.here, fresh)

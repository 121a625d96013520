"""Runs a sample job, so that Java can archive the classes it loads: `python -m catchment.worker.warmup START`.

Java writes the archive when it ends (see `engine.class_archive`). The job's results are thrown away.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from threading import Event

from catchment.engine.protocol import RunJob, RunQuery, Start
from catchment.engine.wire import command
from catchment.errors import Position
from catchment.formats.registry import held_by
from catchment.job.rows import run_query
from catchment.job.running import run_job
from catchment.job.story import Story
from catchment.plan.model import Dataset, InputPlan, JobPlan, OutputPlan, PartitionField, StepPlan
from catchment.project.model import EMBEDDED
from catchment.run_model import RunRequest
from catchment.worker.session import Application

HERE = Position("training", 1, 1)
ROWS = '{"vendor_id": 1, "pickup_datetime": 1577836800000}\n{"vendor_id": 2, "pickup_datetime": 1580515200000}\n'


def run_sample_job(start: Start) -> None:
    """Read JSON, run SQL, write a partitioned table and query it."""
    application = Application.start(start)
    with application.session() as session:
        story = Story("training", logging.Logger("training"), lambda note: None, Event())
        command = RunJob("training", _job(start), "training", "training", 1, RunRequest("2020-01-01T00:00:00Z"))
        run_job(session, command, story, application.writer, application.session, start.engine.depots)
        run_query(session, RunQuery("training", "SELECT vendor_id, count(*) FROM lake.raw.trips GROUP BY 1"))
    application.stop()


def _job(start: Start) -> JobPlan:
    rows = Path(start.scratch) / "trips.json"
    rows.write_text(ROWS)
    source = InputPlan("trips", Dataset("trips", "lake", "json", path=str(rows)), HERE)
    sql = "SELECT *, to_timestamp(pickup_datetime / 1000) AS at, now() AS seen FROM trips WHERE vendor_id > 0"
    table = Dataset("dataos://lake:raw/trips", "lake", _table_format(), namespace="raw", table="trips")
    months = (PartitionField("month", "at", HERE, "month"),)
    output = OutputPlan("out", "rows", table, HERE, mode="append", partitions=months)
    step = StepPlan("rows", sql, HERE, HERE)
    return JobPlan("training", "training", HERE, inputs=(source,), steps=(step,), outputs=(output,), explain=True)


def _table_format() -> str:
    return held_by(EMBEDDED)[0].formats[0]


if __name__ == "__main__":
    start = command(Path(sys.argv[1]).read_bytes())
    if isinstance(start, Start):
        run_sample_job(start)

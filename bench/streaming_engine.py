"""The engine of bench/streaming.py: runs streams into one table, in several ways. Not for use by itself.

Reads tasks as JSON lines from standard input and answers each with one line.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from catchment.commit.writer import Writer
from catchment.engine.protocol import Note, RunJob
from catchment.errors import CatchmentError, Position
from catchment.job.running import run_job
from catchment.job.story import Story
from catchment.plan.model import Dataset, InputPlan, JobPlan, OutputPlan, StreamPlan
from catchment.run_model import RunRequest, new_run_id
from lake import serve, start

HERE = Position("bench", 1, 1)
SCHEMA = "id STRING, sent BIGINT"
POLL_SECONDS = 0.05
LOOK_SECONDS = 0.5
STALLED_SECONDS = 20.0


@dataclass
class Bench:
    spark: SparkSession
    writer: Writer
    directory: Path

    def backlog(self, way: str, streams: int, batches: int) -> dict[str, Any]:
        """Files that are there already, one in each batch: how long until all are in the table."""
        name = self._create()
        for number in range(streams):
            for batch in range(batches):
                self._arrive(name, number, batch)
        began = time.perf_counter()
        failures = self._run(way, name, streams, "available-now", threading.Event())
        seconds, missing = time.perf_counter() - began, self._missing(name, streams * batches)
        written = streams * batches - missing
        return {"rate": written / seconds, "commits": self._commits(name), "missing": missing, "failures": failures}

    def paced(self, way: str, streams: int, batches: int, every: float) -> dict[str, Any]:
        """A file for each stream at an interval: how long each takes until readers see it."""
        name, stop = self._create(), threading.Event()
        with ThreadPoolExecutor(1) as threads:
            running = threads.submit(self._run, way, name, streams, "back-to-back", stop)
            for batch in range(batches):
                for number in range(streams):
                    self._arrive(name, number, batch)
                time.sleep(every)
            self._await(name, streams * batches, running)
            stop.set()
            failures = running.result()
        return {"lag": self._lags(name), "missing": self._missing(name, streams * batches), "failures": failures}

    def _await(self, name: str, expected: int, running: Future[list[str]]) -> None:
        """Wait until all rows are there, or until no more come: a stream that has failed writes none."""
        missing, changed = expected, time.monotonic()
        while missing and not running.done() and time.monotonic() - changed < STALLED_SECONDS:
            time.sleep(LOOK_SECONDS)
            before, missing = missing, self._missing(name, expected)
            changed = time.monotonic() if missing != before else changed

    def _create(self) -> str:
        name = f"t{uuid.uuid4().hex[:8]}"
        self.spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.bench")
        self.spark.sql(f"CREATE TABLE lake.bench.{name} ({SCHEMA}) USING iceberg")
        return name

    def _arrive(self, name: str, stream: int, batch: int) -> None:
        place = self.directory / name / str(stream)
        place.mkdir(parents=True, exist_ok=True)
        unfinished = place / f".{batch}"
        unfinished.write_text(json.dumps({"id": f"{stream}-{batch}", "sent": round(time.time() * 1000)}))
        unfinished.rename(place / f"{batch:06}.json")

    def _missing(self, name: str, expected: int) -> int:
        found = self.spark.sql(f"SELECT count(DISTINCT id), count(id) FROM lake.bench.{name}").collect()[0]
        return max(expected - int(found[0]), int(found[1]) - int(found[0]))

    def _commits(self, name: str) -> int:
        return int(self.spark.sql(f"SELECT count(*) FROM lake.bench.{name}.snapshots").collect()[0][0])

    def _lags(self, name: str) -> list[float]:
        """Seconds between the arrival of each row and the commit of its file."""
        table = f"lake.bench.{name}"
        rows = self.spark.sql(
            f"SELECT (unix_millis(s.committed_at) - r.sent) / 1000.0 FROM (SELECT _file, sent FROM {table}) r "
            f"JOIN {table}.entries e ON e.data_file.file_path = r._file JOIN {table}.snapshots s USING (snapshot_id)"
        )
        return [float(row[0]) for row in rows.collect()]

    def _run(self, way: str, name: str, streams: int, trigger: Any, stop: threading.Event) -> list[str]:
        run: Callable[..., None] = self._plain if way == "plain" else self._catchment
        for number in range(streams):
            (self.directory / name / str(number)).mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(streams) as threads:
            started = [threads.submit(run, name, number, trigger, stop) for number in range(streams)]
        return [repr(error) for each in started if (error := each.exception()) is not None]

    def _plain(self, name: str, number: int, trigger: str, stop: threading.Event) -> None:
        """Structured Streaming by itself."""
        rows = self.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        place = self.directory / name / str(number)
        writer = rows.json(str(place)).writeStream.option("checkpointLocation", f"{place}-checkpoint")
        writer = writer.option("fanout-enabled", "true")
        query = (writer.trigger(availableNow=True) if trigger == "available-now" else writer).toTable(
            f"lake.bench.{name}"
        )
        while query.isActive and not stop.wait(POLL_SECONDS):
            pass
        if stop.is_set():
            query.stop()
        query.awaitTermination()

    def _catchment(self, name: str, number: int, trigger: Any, stop: threading.Event) -> None:
        place = self.directory / name / str(number)
        source = InputPlan(
            *("rows", Dataset("dataos://drop:none/x", "drop", "json", path=str(place)), HERE),
            options={"maxfilespertrigger": "1"},
            schema=SCHEMA,
            stream=True,
        )
        table = Dataset(f"dataos://lake:bench/{name}", "lake", "iceberg", "bench", name)
        output = OutputPlan("out", "rows", table, HERE, mode="append")
        plan = StreamPlan(f"{place}-checkpoint", trigger)
        job = JobPlan(f"s{number}", "default", HERE, inputs=(source,), outputs=(output,), stream=plan)
        command = RunJob(job.name, job, name, new_run_id(datetime.now(timezone.utc)), 1, RunRequest())
        story = Story(job.name, logging.getLogger("bench"), _unheard, stop)
        session = self.spark.newSession()
        getattr(self.spark._jvm, "org.apache.spark.sql.SparkSession").setActiveSession(session._jsparkSession)
        try:
            run_job(session, command, story, self.writer, _no_sessions, ())
        except CatchmentError as error:
            if error.code != "cancelled":
                raise


def _unheard(note: Note) -> None:
    """Nobody hears what a stream does."""


def _no_sessions() -> Any:
    raise NotImplementedError


if __name__ == "__main__":
    lake = Path(sys.argv[1])
    spark, writer = start(*sys.argv[1:5], more={"spark.sql.shuffle.partitions": "2"})
    serve(Bench(spark, writer, lake / "arriving"))

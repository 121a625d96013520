"""One engine of bench/writers.py: a Spark application that writes small appends from many threads, in several ways.

Reads tasks as JSON lines from standard input and answers each with one line. Not for use by itself.
"""

from __future__ import annotations

import sys
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from catchment.commit.writer import Writer
from catchment.errors import Position
from catchment.formats.delta import writing as delta
from catchment.formats.delta.format import Delta
from catchment.formats.iceberg.buffered import seal
from catchment.formats.iceberg.catalogs import require_table
from catchment.formats.iceberg.table import LakeTable
from catchment.formats.iceberg.writing import commit
from catchment.formats.model import Write
from catchment.plan.model import Dataset, OutputPlan
from lake import DELTA, Unheard, serve, start

RETRIES = {
    "plain": {},
    "tuned": {
        "commit.retry.num-retries": "100",
        "commit.retry.min-wait-ms": "50",
        "commit.retry.max-wait-ms": "2000",
        "commit.retry.total-timeout-ms": "1800000",
    },
    "catchment": {},
}
DELTA_WAYS = ("delta-plain", "delta")


@dataclass
class Bench:
    spark: SparkSession
    writer: Writer
    warehouse: str
    seconds: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def create(self, table: str, way: str) -> None:
        if way in DELTA_WAYS:
            self.spark.sql(f"CREATE TABLE {self._dataset(table, way).identifier} (id STRING, value INT) USING delta")
            return
        properties = ", ".join(f"'{key}'='{value}'" for key, value in RETRIES[way].items())
        self.spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.bench")
        self.spark.sql(
            f"CREATE TABLE lake.bench.{table} (id STRING, value INT) USING iceberg"
            + (f" TBLPROPERTIES ({properties})" if properties else "")
        )

    def write(self, table: str, way: str, threads: int, each: int) -> dict[str, Any]:
        self.seconds, self.failures = [], []
        before = _requests(self.spark)
        began = time.monotonic()
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda _: self._writes(table, way, each), range(threads)))
        return {
            "elapsed": time.monotonic() - began,
            "seconds": self.seconds,
            "failures": self.failures,
            "requests": _requests(self.spark) - before,
        }

    def look(self, table: str, way: str) -> dict[str, Any]:
        name = self._dataset(table, way).identifier
        [row] = self.spark.sql(f"SELECT count(*), count(DISTINCT id) FROM {name}").collect()
        if way in DELTA_WAYS:
            snapshots = self.spark.sql(f"DESCRIBE HISTORY {name}").count() - 1  # the first one creates the table
        else:
            snapshots = self.spark.sql(f"SELECT count(*) FROM {name}.snapshots").collect()[0][0]
        return {"rows": row[0], "ids": row[1], "snapshots": snapshots}

    def lease(self, table: str, buffers: int) -> float:
        """Seconds under the lease for one commit of so many sealed buffers."""
        for write in [_write(self._dataset(table, "catchment")) for _ in range(buffers)]:
            loaded = LakeTable(self.writer.session, require_table(self.writer.session, write.output.dataset))
            publisher = seal(self.writer, self._frame(write.id), loaded, write, {}, Unheard())
        began = time.monotonic()
        publisher.consolidate()
        return time.monotonic() - began

    def _frame(self, write_id: str) -> DataFrame:
        return self.spark.range(0, 1, 1, 1).selectExpr(f"'{write_id}' AS id", "1 AS value")

    def _writes(self, table: str, way: str, each: int) -> None:
        sessions = self.spark._jvm.org.apache.spark.sql.SparkSession
        sessions.setActiveSession(self.spark._jsparkSession)
        for _ in range(each):
            write = _write(self._dataset(table, way))
            frame = self._frame(write.id)
            began = time.monotonic()
            try:
                self._put(frame, write, way)
                self.seconds.append(time.monotonic() - began)
            except Exception as error:
                self.failures.append(str(error)[:200])

    def _put(self, frame: DataFrame, write: Write, way: str) -> None:
        place = write.output.dataset
        if way == "catchment":
            commit(self.spark, frame, write, self.writer, Unheard())
        elif way == "delta":
            delta.commit(self.spark, frame, write, self.writer, Unheard())
        elif way == "delta-plain":
            frame.write.format("delta").mode("append").save(place.path)
        else:
            frame.writeTo(place.identifier).append()

    def _dataset(self, table: str, way: str) -> Dataset:
        if way in DELTA_WAYS:
            path = f"{self.warehouse}/delta/{table}"
            return Dataset(f"dataos://events:bench/{table}", "events", "delta", "bench", table, path)
        return Dataset(f"dataos://lake:bench/{table}", "lake", "iceberg", "bench", table)


def _write(place: Dataset) -> Write:
    output = OutputPlan("out", "rows", place, Position("bench", 1, 1), mode="append")
    began = datetime.now(timezone.utc)  # as ids of runs are: they tell how far back a write is looked for
    return Write(output, "bench", "bench", f"{began:%Y%m%d-%H%M%S}-{uuid.uuid4().hex}")


def _requests(spark: SparkSession) -> int:
    """Requests that this engine has sent to S3 so far, by Hadoop's own count."""
    total = 0
    for statistics in spark._jvm.org.apache.hadoop.fs.FileSystem.getGlobalStorageStatistics().iterator():
        for each in statistics.getLongStatistics():
            if each.getName() in COUNTED:
                total += int(each.getValue())
    return total


COUNTED = {
    "action_http_get_request",
    "action_http_head_request",
    "object_delete_request",
    "object_bulk_delete_request",
    "object_list_request",
    "object_metadata_request",
    "object_put_request",
    "object_multipart_initiated",
}


def main(lake: str, warehouse: str, jars: str, endpoint: str) -> None:
    bench = Bench(*start(lake, warehouse, jars, endpoint, DELTA), warehouse)
    if hasattr(Delta, "prepare"):  # checkouts before it (`--beside`) do not know the word
        Delta().prepare(bench.spark)
    serve(bench)


if __name__ == "__main__":
    main(*sys.argv[1:])

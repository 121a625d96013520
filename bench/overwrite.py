"""Rewriting partitions: campaign x date data, 10 % and 100 % of its partitions, in five ways, side by side.

    .venv/bin/python bench/overwrite.py --quick         about ten minutes
    .venv/bin/python bench/overwrite.py                 as long as it takes
    .venv/bin/python bench/overwrite.py --stores local --save docs/benchmarks/overwrite.json

Ways: `loop` overwrites one partition directory after the other, `spark` is Spark's dynamic overwrite of Parquet,
`files` is Catchment's journal on Parquet, `iceberg` is Catchment's buffer on a table, `delta` is Delta's commit wrapped
in Catchment's ledger. All of them run in one warm session with the same settings of the store, interleaved,
each on data of its own; once on the local disk, once on an S3 server with 40 ms per request.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.servers import s3
from tests.servers.s3 import S3Server

from catchment.commit.writer import Writer
from catchment.errors import Position
from catchment.formats.delta.writing import commit as commit_delta
from catchment.formats.files.filling import Shape
from catchment.formats.files.writing import write_files
from catchment.formats.iceberg.writing import commit as commit_iceberg
from catchment.formats.model import Write
from catchment.plan.model import Dataset, OutputPlan, PartitionField
from lake import DELTA, Unheard, start
from writers import LATENCY_MS, installed_for

WAYS = ("loop", "spark", "files", "iceberg", "delta")
COLUMNS = ("campaign", "date")
ROWS_PER_PARTITION = 100
HERE = Position("bench/overwrite.py", 1, 1)
LONGEST_LOOP = 50
"""Partitions that the loop is asked to rewrite on S3, where each one takes seconds, and in a quick run."""


@dataclass(frozen=True)
class Case:
    store: str
    partitions: int
    share: int
    """Per cent of the partitions that are rewritten."""
    way: str


@dataclass(frozen=True)
class Outcome:
    seconds: float
    requests: Mapping[str, int] = field(default_factory=dict)
    """By verb; COPY is a PUT that the store serves by itself."""


@dataclass
class Bench:
    spark: SparkSession
    writer: Writer
    base: str
    server: S3Server | None

    def load(self, case: Case, name: str) -> None:
        """The data as it was before."""
        frame = rows(self.spark, case.partitions, case.partitions, "old")
        if case.way == "iceberg":
            self.spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.bench")
            self.spark.sql(
                f"CREATE TABLE lake.bench.{name} (id BIGINT, mark STRING, campaign STRING, date DATE) USING iceberg "
                "PARTITIONED BY (campaign, date) TBLPROPERTIES ('write.distribution-mode'='none')"
            )
            self._iceberg(frame, name)
        elif case.way == "delta":
            self._delta(frame, name)
        else:
            self._files(frame, name)

    def rewrite(self, case: Case, name: str) -> Outcome:
        """Rewrite a share of the partitions; what is there then is checked."""
        count = max(1, case.partitions * case.share // 100)
        frame = rows(self.spark, case.partitions, count, "new")
        way: Callable[[DataFrame, str], None] = getattr(self, f"_{case.way}")
        before, began = self._requests(), time.monotonic()
        way(frame, name)
        seconds = time.monotonic() - began
        asked = self._requests() - before
        self._check(case, name, count)
        return Outcome(seconds, dict(asked))

    def _check(self, case: Case, name: str, count: int) -> None:
        frame = self._read(case.way, name)
        found = {row[0]: row[1] for row in frame.groupBy("mark").count().collect()}
        each = {"new": count, "old": case.partitions - count}
        if found != {mark: number * ROWS_PER_PARTITION for mark, number in each.items() if number}:
            sys.exit(f"{case}: {found} in the data")

    def _read(self, way: str, name: str) -> DataFrame:
        if way == "iceberg":
            return self.spark.table(f"lake.bench.{name}")
        return self.spark.read.format("delta" if way == "delta" else "parquet").load(f"{self.base}/{name}")

    def _loop(self, frame: DataFrame, name: str) -> None:
        frame = frame.cache()
        for campaign, date in frame.select(*COLUMNS).distinct().collect():
            part = frame.where((F.col("campaign") == campaign) & (F.col("date") == date)).drop(*COLUMNS)
            part.coalesce(1).write.mode("overwrite").parquet(f"{self.base}/{name}/campaign={campaign}/date={date}")
        frame.unpersist()

    def _spark(self, frame: DataFrame, name: str) -> None:
        writer = frame.write.mode("overwrite").partitionBy(*COLUMNS).option("partitionOverwriteMode", "dynamic")
        writer.parquet(f"{self.base}/{name}")

    def _files(self, frame: DataFrame, name: str) -> None:
        place = Dataset(f"dataos://drop:none/{name}", "drop", "parquet", path=f"{self.base}/{name}")
        output = OutputPlan("out", "rows", place, HERE, mode="overwrite-partitions")
        write, shape = Write(output, "bench", "bench", uuid.uuid4().hex), Shape("parquet", COLUMNS, {})
        write_files(self.writer, self.spark, frame, write, shape, Unheard())

    def _iceberg(self, frame: DataFrame, name: str) -> None:
        place = Dataset(f"dataos://lake:bench/{name}", "lake", "iceberg", "bench", name)
        output = OutputPlan("out", "rows", place, HERE, mode="overwrite-partitions")
        commit_iceberg(self.spark, frame, Write(output, "bench", "bench", uuid.uuid4().hex), self.writer, Unheard())

    def _delta(self, frame: DataFrame, name: str) -> None:
        place = Dataset(f"dataos://events:bench/{name}", "events", "delta", "bench", name, f"{self.base}/{name}")
        spec = tuple(PartitionField("identity", column, HERE) for column in COLUMNS)
        output = OutputPlan("out", "rows", place, HERE, mode="overwrite-partitions", partitions=spec)
        commit_delta(self.spark, frame, Write(output, "bench", "bench", uuid.uuid4().hex), self.writer, Unheard())

    def _requests(self) -> Counter[str]:
        return Counter(_verbs(self.server.log.read_text(errors="replace"))) if self.server else Counter()


def rows(spark: SparkSession, partitions: int, count: int, mark: str) -> DataFrame:
    """Rows for the first `count` partitions: ten campaigns, as many dates as it takes, a file per partition."""
    frame = spark.range(0, count * ROWS_PER_PARTITION, 1, 2)
    part = F.floor(F.col("id") / ROWS_PER_PARTITION)
    frame = frame.withColumn("mark", F.lit(mark)).withColumn("campaign", F.concat(F.lit("c"), (part % 10)))
    frame = frame.withColumn("date", F.date_add(F.lit("2026-01-01").cast("date"), F.floor(part / 10).cast("int")))
    return frame.repartition(2, *COLUMNS)


def _verbs(log: str) -> Iterator[str]:
    """What the server was asked for, from its log: verbs, with LIST and COPY apart, which are a GET and a PUT there."""
    asked: dict[str, str] = {}
    for line in log.splitlines():
        thread = line.split(" ", 6)[4:5]
        request = re.search(r"request: .*\{(\w+)@\w+ (\S+)", line)
        if request:
            yield from asked.pop(thread[0], "").split()
            asked[thread[0]] = "LIST" if "list-type=" in request[2] else request[1]
        elif "Getting blob at" in line and asked.get(thread[0]) == "PUT":
            asked[thread[0]] = "COPY"  # it reads one object in order to write another
        elif "Creating blob at" in line and asked.get(thread[0]) == "PUT":
            yield asked.pop(thread[0])
    yield from asked.values()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer partitions, one repetition on S3")
    parser.add_argument("--stores", nargs="+", default=["local", "s3"], choices=["local", "s3"])
    parser.add_argument("--partitions", type=int, nargs="+")
    parser.add_argument("--shares", type=int, nargs="+", default=[10, 100])
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=WAYS)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--save", type=Path, help="write the figures here (JSON)")
    asked = parser.parse_args()
    found: dict[Case, list[Outcome]] = {}
    for store in asked.stores:
        counts = asked.partitions or ([200] if asked.quick else [50, 200, 1000])
        repeat = 1 if asked.quick and store == "s3" else asked.repeat
        with tempfile.TemporaryDirectory() as directory:
            measure(Path(directory), store, counts, asked, repeat, found)
    report(found)
    if asked.save:
        lines = [{**case.__dict__, "outcomes": [o.__dict__ for o in outcomes]} for case, outcomes in found.items()]
        asked.save.write_text(json.dumps(lines, indent=1) + "\n")


def measure(
    directory: Path,
    store: str,
    counts: list[int],
    asked: argparse.Namespace,
    repeat: int,
    found: dict[Case, list[Outcome]],
) -> None:
    """Every case of one store, in a session of its own."""
    bench = begin(directory, store)
    try:
        warm = [Case(store, 4, 100, way) for way in asked.ways]
        cases = [Case(store, count, share, way) for count in counts for share in asked.shares for way in asked.ways]
        for case in warm:
            _once(bench, case)
        for number in range(repeat):
            for case in cases[number % len(asked.ways) :] + cases[: number % len(asked.ways)]:
                short = asked.quick or store == "s3"
                if case.way == "loop" and short and case.partitions * case.share // 100 > LONGEST_LOOP:
                    continue
                outcome = _once(bench, case)
                found.setdefault(case, []).append(outcome)
                print(f"  {case} {outcome}", file=sys.stderr, flush=True)
    finally:
        bench.spark.stop()
        if bench.server:
            bench.server.stop()


def _once(bench: Bench, case: Case) -> Outcome:
    name = f"t_{uuid.uuid4().hex[:8]}"
    bench.load(case, name)
    return bench.rewrite(case, name)


def begin(directory: Path, store: str) -> Bench:
    """A session and, for S3, a server."""
    server, base, warehouse, endpoint = None, str(directory / "files"), str(directory / "t"), ""
    if store == "s3":
        server = s3.start(s3.jar(), directory / "s3", latency_ms=LATENCY_MS, log_level="debug")
        base, warehouse = "s3a://lake/files", "s3a://lake/warehouse"
        prefix = "spark.hadoop.fs.s3a."
        endpoint = json.dumps({key.removeprefix(prefix): value for key, value in server.spark_conf().items()})
    jars = ",".join(
        installed_for("s3", "iceberg", "delta").jars
    )  # on the local disk too: the sessions of both share a JVM
    spark, writer = start(str(directory), warehouse, jars, endpoint, DELTA)
    return Bench(spark, writer, base, server)


def report(found: dict[Case, list[Outcome]]) -> None:
    """The table of medians, and each goal met or missed."""
    print("| store | partitions | rewritten | way | seconds | S3 requests |")
    print("|---|---|---|---|---|---|")
    for case, outcomes in found.items():
        seconds = [outcome.seconds for outcome in outcomes]
        spread = f" ({min(seconds):.1f}-{max(seconds):.1f})" if len(seconds) > 1 else ""
        asked = " ".join(f"{verb} {count}" for verb, count in sorted(outcomes[-1].requests.items()))
        middle = f"{statistics.median(seconds):.1f}{spread}"
        print(f"| {case.store} | {case.partitions} | {case.share} % | {case.way} | {middle} | {asked} |")
    for line in goals(found):
        print(line)


def goals(found: dict[Case, list[Outcome]]) -> Iterator[str]:
    """What was promised, and whether it held in this run."""

    def middle(case: Case) -> float | None:
        return statistics.median(outcome.seconds for outcome in found[case]) if case in found else None

    def line(case: Case, limit: float, *, faster: bool) -> Iterator[str]:
        ours = middle(case)
        spark = middle(Case(case.store, case.partitions, case.share, "spark"))
        if ours and spark:
            value = spark / ours if faster else ours / spark
            met = value >= limit if faster else value <= limit
            what = f"{case.store}, {case.partitions} partitions, {case.share} %: {case.way}"
            told = (
                f"{value:.1f} x faster than spark, goal >= {limit:g}"
                if faster
                else f"{value:.2f} x spark, goal <= {limit:g}"
            )
            yield f"- {what} {told}: {'met' if met else 'MISSED'}"

    for count in (50, 200, 1000):
        for share in (10, 100):
            yield from line(Case("local", count, share, "files"), 1.1, faster=False)
    for way, limit in (("files", 6), ("iceberg", 12)):
        yield from line(Case("s3", 200, 100, way), limit, faster=True)


if __name__ == "__main__":
    main()
    os._exit(0)

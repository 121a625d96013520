"""Writers beside a compaction: three engines write small appends to one table, and somebody merges the files, or not.

    .venv/bin/python bench/compaction.py --quick                    a table each for twenty seconds
    .venv/bin/python bench/compaction.py                            three minutes for each way and format
    .venv/bin/python bench/compaction.py --save docs/benchmarks/compaction.json

Ways: `none` never compacts; `inline` lets each writer compact the table after every tenth of its own writes;
`dedicated` runs the continuous compaction job on an engine of its own. Reported are the writes per second of all
writers, their median and p99, writes that failed, the number of files at the end, and the time of a fixed query: as
the table is then, and once it is fully compacted.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.spark.lake import (
    LiveEngine,
    by,
    delta_depot,
    delta_table,
    engine_plan,
    lake_depot,
    paimon_depot,
    paimon_table,
    table,
    writing,
)

from catchment.engine.protocol import Done
from catchment.plan.model import Dataset, Maintenance, Rewrite
from catchment.project.model import Depot, Thresholds, Upkeep
from catchment.run.compaction.compactor import TableCompactor
from catchment.table_health import TableHealth

FORMATS = ("iceberg", "delta", "paimon")
WAYS = ("none", "inline", "dedicated")
WRITERS = 3
INLINE_EVERY = 10
QUERIES = 5
PARTS = 4


@dataclass(frozen=True)
class Outcome:
    """What one way came to on one format."""

    format: str
    way: str
    writes: int
    failed: int
    per_second: float
    median: float
    p99: float
    files: int
    read_seconds: float
    read_compacted_seconds: float


class EngineLake:
    """An engine as the compaction job knows it."""

    def __init__(self, engine: LiveEngine) -> None:
        self.engine = engine

    def health(self, table: Dataset, small_file_bytes: int | None, known: str | None) -> TableHealth | None:
        """How the table is."""
        return self.engine.health(table, small_file_bytes)

    def maintain(self, table: Dataset, operation: Maintenance, *, by: str, dry_run: bool) -> Mapping[str, Any]:
        """Run one action."""
        return self.engine.maintain(table, operation, dry_run=dry_run)


def place(format: str, root: Path, name: str) -> tuple[Depot, Dataset, str]:
    """The depot and the table of one way, and the line of Spark that writes it."""
    if format == "paimon":
        return paimon_depot(root), paimon_table(name), "3.5"
    if format == "delta":
        return delta_depot(root), delta_table(name, root), "4.1"
    return lake_depot(root), table(name), "4.1"


def write_until(engine: LiveEngine, target: Dataset, number: int, end: float, way: str) -> tuple[list[float], int]:
    """Append a few rows again and again; returns the seconds of each write, and how many failed."""
    seconds, failed = list[float](), 0
    while time.monotonic() < end:
        sql = f"SELECT id, {number} AS writer, CAST(id % {PARTS} AS INT) AS part FROM range(200)"
        began = time.monotonic()
        work = writing(sql, target, name=f"w{number}", mode="append", partitions=(by("identity", "part"),))
        failed += not isinstance(engine.start_job(work).answer(), Done)
        if way == "inline" and len(seconds) % INLINE_EVERY == INLINE_EVERY - 1:
            engine.start_maintenance(target, Rewrite()).answer()
        seconds.append(time.monotonic() - began)
    return seconds, failed


def measure(format: str, way: str, engines: Sequence[LiveEngine], root: Path, seconds: float) -> Outcome:
    """Let the writers write, with or without somebody who compacts."""
    _, target, _ = place(format, root, f"t_{way}")
    *writers, keeper = engines
    first = writing(
        f"SELECT 0L AS id, 0 AS writer, explode(sequence(0, {PARTS - 1})) AS part",
        target,
        mode="append",
        partitions=(by("identity", "part"),),
    )
    writers[0].run(first)
    limits = Upkeep(Thresholds(quiet=0.0))
    compactor = TableCompactor(EngineLake(keeper), target, limits, "bench")
    following = threading.Thread(target=compactor.continuous, args=(1.0,))
    if way == "dedicated":
        following.start()
    began = time.monotonic()
    with ThreadPoolExecutor(WRITERS) as threads:
        each = [
            threads.submit(write_until, engine, target, number, began + seconds, way)
            for number, engine in enumerate(writers)
        ]
        done = [one.result() for one in each]
    took = time.monotonic() - began
    compactor.stop.set()
    if way == "dedicated":
        following.join()
    every = sorted(one for times, _ in done for one in times)
    files, read = writers[0].health(target).files, read_time(keeper, target)
    keeper.maintain(target, Rewrite())
    return Outcome(
        format,
        way,
        len(every),
        sum(failed for _, failed in done),
        round(len(every) / took, 2),
        round(statistics.median(every), 3),
        round(every[int(len(every) * 0.99)], 3),
        files,
        read,
        read_time(keeper, target),
    )


def read_time(engine: LiveEngine, target: Dataset) -> float:
    """The median seconds of a query that reads the whole table."""
    relation = f"delta.`{target.path}`" if target.path else target.identifier
    times = []
    for _ in range(QUERIES):
        began = time.monotonic()
        engine.rows(f"SELECT part, count(*), sum(id) FROM {relation} GROUP BY part ORDER BY part")
        times.append(time.monotonic() - began)
    return round(statistics.median(times), 3)


def run(format: str, ways: Sequence[str], seconds: float) -> list[Outcome]:
    """All ways on one format, with the same engines."""
    with tempfile.TemporaryDirectory() as directory, ExitStack() as ending:
        root = Path(directory)
        depot, _, line = place(format, root, "t")
        engines = []
        for number in range(WRITERS + 1):
            plan = engine_plan(depot, key=f"e{number}", spark=line, conf={"spark.driver.memory": "1200m"})
            engines.append(LiveEngine(plan, root / f"logs-{number}"))
            ending.callback(engines[-1].process.stop, 10)
        for engine in engines:
            engine.ready()
        return [measure(format, way, engines, root, seconds) for way in ways]


def report(found: Sequence[Outcome]) -> None:
    """Print the figures, those of each way beside those without compaction."""
    columns = ("writes/s", "median", "p99", "failed", "files", "read", "best")
    print(f"{'format':8} {'way':10} {' '.join(f'{name:>8}' for name in columns)}")
    for each in found:
        counts = (each.per_second, each.median, each.p99, each.failed, each.files)
        figures = (*counts, each.read_seconds, each.read_compacted_seconds)
        print(f"{each.format:8} {each.way:10} {' '.join(f'{figure:8}' for figure in figures)}")


def main() -> None:
    """Measure, print and save."""
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--quick", action="store_true")
    given.add_argument("--seconds", type=float)
    given.add_argument("--formats", nargs="+", choices=FORMATS, default=FORMATS)
    given.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    given.add_argument("--save", type=Path)
    asked = given.parse_args()
    seconds = asked.seconds or (20.0 if asked.quick else 180.0)
    found = [each for format in asked.formats for each in run(format, asked.ways, seconds)]
    report(found)
    if asked.save:
        asked.save.write_text(json.dumps([asdict(each) for each in found], indent=1) + "\n")


if __name__ == "__main__":
    main()

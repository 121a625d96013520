"""One new month in 12, 60 and 240 months of orders: read incrementally, and by a full reload, side by side.

    .venv/bin/python bench/incremental.py --quick      a few minutes
    .venv/bin/python bench/incremental.py --save incremental.json

Both ways run as jobs of one real engine, interleaved. `incremental` reads the last month through a window and
overwrites it; `reload` reads everything and replaces the table. Rows read are Spark's own count, from its event
log. The goal: what a new month costs follows the window, not the table.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.spark.lake import (
    LiveEngine,
    by,
    engine_plan,
    job,
    lake_depot,
    output,
    reading,
    table,
    windowed,
    writing,
)

from catchment.plan.model import JobPlan
from catchment.store import Store, open_store
from catchment.store.states import State, lease_name

MONTHS = (12, 60, 240)
WAYS = ("incremental", "reload")
WORKFLOW, JOB = "workflow", "orders"
FIRST = "timestamp '2000-01-01 00:00:00'"
BETWEEN = "select * from all_orders where ordered >= '$|start|' and ordered < '$|end|'"
KEYS = {"start": f"select {FIRST}", "end": "select timestamp '$|start|' + interval 1 month"}
GOAL = 1.3
FEW_PARTITIONS = {"spark.sql.shuffle.partitions": "2"}
LOGGING = {"enabled": "true", "compress": "false", "rolling.enabled": "false"}


@dataclass(frozen=True)
class Outcome:
    """One run of one way."""

    months: int
    way: str
    seconds: float
    rows_read: int
    rows_written: int


@dataclass
class EventLog:
    """Spark's own account of what was read."""

    directory: Path
    _seen: dict[Path, int] = field(default_factory=dict)

    def rows_since(self) -> int:
        """Rows read by tasks that ended since this was asked before."""
        return sum(map(self._rows, self.directory.rglob("*")))

    def _rows(self, file: Path) -> int:
        if not file.is_file() or file.name.startswith("."):
            return 0
        with file.open() as lines:
            lines.seek(self._seen.get(file, 0))
            text = lines.read()
            whole = text.rpartition("\n")[0] + "\n" if "\n" in text else ""
            self._seen[file] = self._seen.get(file, 0) + len(whole.encode())
        events = (json.loads(line) for line in whole.splitlines() if "SparkListenerTaskEnd" in line)
        return sum(_records(event) for event in events)


def _records(event: Mapping[str, Any]) -> int:
    return int((event.get("Task Metrics") or {}).get("Input Metrics", {}).get("Records Read", 0))


def loading(months: int, rows: int) -> JobPlan:
    """Orders of so many months, each in its own partition."""
    sql = (
        f"select id, {FIRST} + make_interval(0, cast(id div {rows} as int), 0, cast(id % 28 as int)) as ordered, "
        f"id % 97 as customer, id * 1.5 as amount from range({months * rows})"
    )
    return writing(sql, table(f"source_{months}"), mode="overwrite", partitions=(by("month", "ordered", name="month"),))


def copying(months: int, way: str) -> JobPlan:
    """The job itself, in one way or the other."""
    source, target = table(f"source_{months}"), table(f"{way}_{months}")
    parts = (by("month", "ordered", name="month"),)
    if way == "reload":
        return job(
            output("orders", target, mode="overwrite", partitions=parts), inputs=[reading("orders", source)], name=JOB
        )
    window = windowed("orders", source, BETWEEN, KEYS, {"start": "end"})
    return job(output("orders", target, mode="overwrite-partitions", partitions=parts), inputs=[window], name=JOB)


def stand_before_the_last_month(store: Store, months: int) -> None:
    """The state that the job has when one month is new."""
    year, month = divmod(months - 1, 12)
    state = State(WORKFLOW, JOB, "orders", {"start": f"{2000 + year}-{month + 1:02}-01 00:00:00"})
    lease = store.leases.acquire(lease_name(WORKFLOW, JOB), "bench", 30.0)
    store.states.change(lease, "set", state, "bench")
    store.leases.release(lease)


def measure(directory: Path, repeat: int, rows: int) -> list[Outcome]:
    """Every case, interleaved."""
    events = directory / "events"
    events.mkdir()
    logging = {f"spark.eventLog.{key}": value for key, value in LOGGING.items()} | {
        "spark.eventLog.dir": f"file://{events}"
    }
    plan = engine_plan(lake_depot(directory), conf={**FEW_PARTITIONS, **logging, "spark.driver.memory": "3g"})
    engine, log, found = LiveEngine(plan, directory / "logs"), EventLog(events), []
    try:
        engine.ready()
        for months in MONTHS:
            engine.run(loading(months, rows))
            engine.run(copying(months, "reload"))
        with open_store(plan.metastore) as store:
            for number in range(repeat + 1):
                cases = [(months, way) for months in MONTHS for way in WAYS]
                for months, way in cases if number % 2 else cases[::-1]:
                    outcome = _once(engine, store, log, months, way)
                    if number:  # the first round makes tables and warms up
                        found.append(outcome)
                        print(f"  {outcome}", file=sys.stderr, flush=True)
    finally:
        engine.process.stop(grace=10)
    return found


def _once(engine: LiveEngine, store: Store, log: EventLog, months: int, way: str) -> Outcome:
    if way == "incremental":
        stand_before_the_last_month(store, months)
    log.rows_since()
    started = time.monotonic()
    [report] = engine.run(copying(months, way))
    seconds = time.monotonic() - started
    time.sleep(0.5)  # the event log is written behind the job's back
    return Outcome(months, way, seconds, log.rows_since(), report.rows or 0)


def report(found: list[Outcome]) -> None:
    """Medians with their range, and the goal met or missed."""
    print("| months | way | seconds | rows read | rows written |")
    print("|---|---|---|---|---|")
    medians = {}
    for months in MONTHS:
        for way in WAYS:
            these = [each for each in found if (each.months, each.way) == (months, way)]
            seconds = [each.seconds for each in these]
            medians[months, way] = statistics.median(seconds)
            spread = f"{medians[months, way]:.2f} ({min(seconds):.2f} to {max(seconds):.2f})"
            print(f"| {months} | {way} | {spread} | {these[-1].rows_read:,} | {these[-1].rows_written:,} |")
    growth = {way: medians[MONTHS[-1], way] / medians[MONTHS[0], way] for way in WAYS}
    verdict = "met" if growth["incremental"] <= GOAL else "MISSED"
    print(f"\nfrom {MONTHS[0]} to {MONTHS[-1]} months: incremental {growth['incremental']:.2f} times ", end="")
    print(f"(goal at most {GOAL}: {verdict}), reload {growth['reload']:.2f} times")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rows and repetitions")
    parser.add_argument("--save", type=Path, help="write the figures here (JSON)")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        found = measure(Path(directory), *((3, 5_000) if asked.quick else (5, 20_000)))
    report(found)
    if asked.save:
        asked.save.write_text(json.dumps([asdict(each) for each in found], indent=1) + "\n")


if __name__ == "__main__":
    main()

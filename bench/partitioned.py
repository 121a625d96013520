"""One large append to a table with 12 or with 2,000 partitions: Catchment and a PySpark script, time and memory.

    .venv/bin/python bench/partitioned.py [--pairs 3] [--rows 19800000] [--partitions 12 2000]

Both sides start from nothing, in alternation, on the same Parquet file. The script has a heap of 2 GB, Catchment its
default of 1 GB. `sorted` is Catchment with `fanout-enabled: "false"`, which sorts the rows in any case: at 2,000
partitions it must not need less memory. There, the script keeps a file open for each partition in every task and runs
out of memory, so it is left out. The exit code is 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import duckdb

from catchment import plan
from catchment.engine import packages

HERE = Path(__file__).parent
LOOK_SECONDS = 0.5
TIME, MEMORY = 0.95, 1.05
"""At most so much of the script's time at 12 partitions, and of a sort's memory at 2,000; peaks of memory scatter."""
PROJECT = """\
depots:
  drop: {kind: files, location: ./drop}
  lakehouse: {kind: iceberg, location: ./lake}
"""
WORKFLOW = """\
version: v1
name: partitioned
type: workflow
workflow:
  dag:
  - name: load
    spec:
      stack: flare:7.0
      compute: runnable-default
      stackSpec:
        job:
          inputs: [{{name: rows, dataset: "dataos://drop:none/rows", format: parquet}}]
          outputs:
          - name: rows
            dataset: "dataos://lakehouse:raw/rows?acl=rw"
            options:
              saveMode: append
              iceberg: {{partitionSpec: [{{type: {transform}, column: {column}}}]}}
{extra}
"""
SORTED = '              extraOptions: {fanout-enabled: "false"}'
BY = {12: ("month", "at"), 2000: ("identity", "part")}
Measured = tuple[float, float, float]
"""Seconds, seconds of CPU of all processes, and the largest resident memory of one process in MB."""
TICK = os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--rows", type=int, default=19_800_000)
    parser.add_argument("--partitions", type=int, nargs="+", default=list(BY), choices=list(BY))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        make(Path(directory), asked.rows)
        met = [measure(Path(directory), partitions, asked.pairs) for partitions in asked.partitions]
    sys.exit(0 if all(met) else 1)


def make(directory: Path, rows: int) -> None:
    """Trips of one year, in no order, in one file."""
    (directory / "drop" / "rows").mkdir(parents=True)
    (directory / "catchment.yaml").write_text(PROJECT)
    duckdb.sql(f"""COPY (SELECT i AS id, TIMESTAMP '2026-01-01' + to_seconds(hash(i) % 31536000) AS at,
        CAST(hash(i + 7) % 2000 AS INTEGER) AS part, hash(i) % 265 AS zone, hash(i) % 10000 / 100 AS fare,
        hash(i + 1) % 3000 / 100 AS tip, concat('trip ', i % 1000) AS note FROM range({rows}) t(i))
        TO '{directory}/drop/rows/rows.parquet'""")


def measure(directory: Path, partitions: int, pairs: int) -> bool:
    """Measure one number of partitions and print the figures; whether its goal is met."""
    transform, column = BY[partitions]
    for name, extra in (("load.yaml", ""), ("sorted.yaml", SORTED)):
        (directory / name).write_text(WORKFLOW.format(transform=transform, column=column, extra=extra))
    jars = ",".join(_jars(directory))
    script = [sys.executable, str(HERE / "partitioned_by_hand.py"), str(directory / "by-hand")]
    by_hand = {"by hand": [*script, str(directory / "drop" / "rows"), transform, column, jars]}
    ways = {
        **(by_hand if partitions == 12 else {}),
        "catchment": [str(Path(sys.executable).parent / "catchment"), "run", "load.yaml"],
        "sorted": [str(Path(sys.executable).parent / "catchment"), "run", "sorted.yaml"],
    }
    found: dict[str, list[Measured]] = {way: [] for way in ways}
    for number in range(pairs):
        for way in list(ways) if number % 2 == 0 else list(ways)[::-1]:
            found[way].append(_timed(ways[way], directory))
            seconds, cpu, memory = found[way][-1]
            print(f"  {partitions} partitions, {way}: {seconds:.1f} s, CPU {cpu:.1f} s, {memory:.0f} MB", flush=True)
    middle = {way: [statistics.median(each) for each in zip(*all_, strict=True)] for way, all_ in found.items()}
    times, memory = (middle["catchment"][which] / middle["sorted"][which] for which in (0, 2))
    print(f"{partitions} partitions: {times:.3f} of a sort's time, {memory:.2f} of its memory")
    if partitions != 12:
        return _verdict(partitions, "of a sort's memory", memory, MEMORY)
    ratio, cpu = (middle["catchment"][which] / middle["by hand"][which] for which in (0, 1))
    print(f"{partitions} partitions: {cpu:.3f} of the script's CPU")
    return _verdict(partitions, "of the script's time", ratio, TIME)


def _verdict(partitions: int, what: str, value: float, limit: float) -> bool:
    met = value <= limit
    print(f"{partitions} partitions: {value:.3f} {what}, goal <= {limit}: {'met' if met else 'MISSED'}", flush=True)
    return met


def _jars(directory: Path) -> tuple[str, ...]:
    _, made = plan.prepare(directory / "load.yaml").require()
    return packages.install(made.engines[0], print).jars


def _timed(command: list[str], directory: Path) -> Measured:
    for name in ("lake", ".catchment", "by-hand"):
        shutil.rmtree(directory / name, ignore_errors=True)
    began = time.monotonic()
    cpu, memory = dict[int, float](), dict[int, float]()
    with (directory / "log").open("w") as log:
        running = subprocess.Popen(command, cwd=directory, stdout=log, stderr=log)
        while running.poll() is None:
            for pid in _tree(running.pid):
                with suppress(OSError, StopIteration):  # it has ended
                    cpu[pid], memory[pid] = _used(pid)
            time.sleep(LOOK_SECONDS)
    if running.returncode:
        sys.exit(f"{' '.join(command)[:80]} failed:\n{(directory / 'log').read_text()[-3000:]}")
    return time.monotonic() - began, sum(cpu.values()), max(memory.values())


def _tree(root: int) -> set[int]:
    """A process and all that descend from it."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    found, size = {root}, 0
    while len(found) > size:
        size = len(found)
        found |= {pid for pid, parent in parents.items() if parent in found}
    return found


def _used(pid: int) -> tuple[float, float]:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    peak = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
    return (int(fields[11]) + int(fields[12])) / TICK, int(peak.split()[1]) / 1024


if __name__ == "__main__":
    main()

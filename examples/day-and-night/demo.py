"""Streams, batch jobs and a compaction on the same tables for a minute, then a check of numbers: `make demo-live`."""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import catchment

HERE = Path(__file__).parent
MARK = ".catchment-demo"
TODAY, YESTERDAY = "2026-03-02", "2026-03-01"
PER_FILE, CORRECTIONS = 20, 50
PATIENCE_SECONDS = 300.0
"""How long the streams, and then the compaction, may need to catch up at the end, on a busy machine."""
TABLES = {"iceberg": "lakehouse.live.readings", "delta": "events.live.readings", "paimon": "pond.live.readings"}
ADDRESSES = [f"dataos://{depot}:live/readings" for depot in ("lakehouse", "events", "pond")]


def lay_out(root: Path) -> None:
    """Copy the project. Only a directory that an earlier demo made is emptied."""
    if root.exists():
        if not (root / MARK).exists():
            sys.exit(f"{root} was not made by this demo: remove it, or name another directory")
        shutil.rmtree(root)
    (root / "data" / "arriving").mkdir(parents=True)
    (root / MARK).touch()
    for name in ("catchment.yaml", "day.yaml", "night.yaml"):
        shutil.copy(HERE / name, root / name)


def command(root: Path, *arguments: str) -> Any:
    """Run a verb of the program, and return its answer."""
    verb = [sys.executable, "-m", "catchment", *arguments, "-o", "json"]
    done = subprocess.run(verb, cwd=root, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"catchment {' '.join(arguments)} ended with exit code {done.returncode}")
    return json.loads(done.stdout)


@contextmanager
def service(root: Path, name: str, *arguments: str) -> Iterator[None]:
    """A verb in the background."""
    command(root, *arguments, "--detach", "--name", name)
    print(f"{name}: catchment {' '.join(arguments)}, in the background", flush=True)
    try:
        yield
    finally:
        ended = command(root, "services", "stop", name)
        print(f"{name}: {ended['status']}", flush=True)


def arrive(root: Path, number: int) -> None:
    """One more file with readings of today. It is moved into place, so that no stream sees a part of it."""
    first = number * PER_FILE
    rows = [{"id": each, "day": TODAY, "value": each / 2} for each in range(first, first + PER_FILE)]
    put(root / "data" / "arriving" / f"{number}.json", rows)


def correct(root: Path, night: int) -> None:
    """The readings of yesterday, as this night knows them."""
    rows = [{"id": each, "day": YESTERDAY, "value": float(night)} for each in range(CORRECTIONS)]
    put(root / "data" / "corrected.json", rows)


def put(path: Path, rows: Sequence[dict[str, object]]) -> None:
    hidden = path.with_name(f".{path.name}")
    hidden.write_text("".join(json.dumps(row) + "\n" for row in rows))
    hidden.rename(path)


def live(root: Path, project: catchment.Project, seconds: float) -> tuple[int, int]:
    """Let readings arrive and nights pass for so long; returns the numbers of files and of nights."""
    files = nights = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        correct(root, nights)
        arrive(root, files)
        run = project.run("night.yaml")
        if run.status != "succeeded" or any(job.attempts > 1 for job in run.jobs):
            sys.exit(f"night {nights} {run.status}, after {[job.attempts for job in run.jobs]} attempts of its jobs")
        nights += 1
        for _ in range(5):
            files += 1
            arrive(root, files)
            time.sleep(1)
    return files + 1, nights


def counted(lake: Any, root: Path) -> dict[str, tuple[object, ...]]:
    """Of each table: rows and different ids of today, rows of yesterday and the nights that they are from."""
    found = {}
    for name, table in TABLES.items():
        place = f"delta.`{root.resolve()}/events/live/readings`" if name == "delta" else table
        sql = f"""SELECT count_if(day = '{TODAY}'), count(DISTINCT IF(day = '{TODAY}', id, NULL)),
            count_if(day = '{YESTERDAY}'), min(IF(day = '{YESTERDAY}', value, NULL)),
            max(IF(day = '{YESTERDAY}', value, NULL)) FROM {place}"""  # noqa: S608 - names of our own
        [found[name]] = lake.query(sql).rows
    return found


def attempts_by_day(project: catchment.Project) -> dict[str, int]:
    """How often each stream was begun."""
    [day] = (run for run in project.runs(1000) if run.workflow == "day")
    return {job.name: job.attempts for job in project.show(day.run_id).jobs}


def await_compactions(root: Path) -> dict[str, str | None]:
    """Wait until every table was compacted; returns when each of them was, and None for those that never were."""
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        found = {each: command(root, "table", "health", each)["last_compaction"] for each in ADDRESSES}
        if all(found.values()) or time.monotonic() > end:
            return found
        time.sleep(1)


def main(root: Path, seconds: float) -> int:
    """Let everything run beside each other, and compare; 1 if a number is wrong or a compaction is missing."""
    lay_out(root)
    project = catchment.open(root)
    with service(root, "day", "run", "day.yaml"), service(root, "compactor", "maintain"):
        files, nights = live(root, project, seconds)
        rows, last = files * PER_FILE, float(nights - 1)
        expected = (rows, rows, CORRECTIONS, last, last)
        end = time.monotonic() + PATIENCE_SECONDS
        with project.lake("old") as lake:  # the only one that can read every table
            while any(row != expected for row in counted(lake, root).values()) and time.monotonic() < end:
                time.sleep(1)
        compacted = await_compactions(root)
    with project.lake("old") as lake:
        found = counted(lake, root)
    for name, row in found.items():
        print(
            f"{'ok   ' if row == expected else 'WRONG'} {name}: {row[0]} rows of today, {row[1]} different; "
            f"{row[2]} of yesterday, from night {row[3]} to {row[4]} of {nights}"
        )
    for address, moment in compacted.items():
        print(f"{'ok   ' if moment else 'NEVER'} {address}: last compacted {moment or '(not at all)'}")
    begun = attempts_by_day(project)
    for name, attempts in begun.items():
        print(f"{'ok   ' if attempts == 1 else 'AGAIN'} stream {name}: attempts {attempts}")
    wrong = [f"the rows of {name}" for name, row in found.items() if row != expected]
    wrong += [f"a compaction of {address}" for address, moment in compacted.items() if not moment]
    wrong += [f"a second attempt of stream {name}" for name, attempts in begun.items() if attempts != 1]
    if wrong:
        print(f"wrong or missing: {', '.join(wrong)}")
        return 1
    print("every reading is there once, yesterday is as the last night left it, every table was compacted,")
    print("and no job was begun a second time")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", nargs="?", type=Path, default=Path("demo-live"))
    parser.add_argument("--seconds", type=float, default=60.0, help="how long readings arrive (default: %(default)s)")
    asked = parser.parse_args()
    sys.exit(main(asked.directory, asked.seconds))

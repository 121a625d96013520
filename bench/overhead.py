"""What Catchment costs over a hand-written PySpark script: the same two-job workflow, cold, in alternation.

    make bench            or     .venv/bin/python bench/overhead.py [--pairs 5] [--trips 200000 2000000]

Both sides start from nothing (new process, new JVM, empty lake) on the same data with the same jars from the local
disk. A pair is one run of each, the first to go alternating. Reported: median and range of the ratios.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from importlib import resources
from pathlib import Path

from catchment import plan
from catchment.demo import trips
from catchment.engine import packages

HERE = Path(__file__).parent
GOALS = {200_000: 1.10, 2_000_000: 1.05}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--trips", type=int, nargs="+", default=list(GOALS))
    asked = parser.parse_args()
    for count in asked.trips:
        with tempfile.TemporaryDirectory() as directory:
            measure(Path(directory), count, asked.pairs)


def measure(directory: Path, count: int, pairs: int) -> None:
    """Measure one size and print the table."""
    trips.write(directory / "dropzone" / "ny-taxi-data", count)
    for name in ("catchment.yaml", "append.yaml"):
        text = resources.files("catchment.demo").joinpath("workflows", name).read_text()
        (directory / name).write_text(text)
    jars = ",".join(_jars(directory))
    ratios = []
    for number in range(pairs):
        ways = [lambda: by_hand(directory, jars), lambda: by_catchment(directory)]
        first = number % 2
        seconds = {first: ways[first]()}
        seconds[1 - first] = ways[1 - first]()
        ratios.append(seconds[1] / seconds[0])
        print(f"  pair {number + 1}: by hand {seconds[0]:.1f} s, catchment {seconds[1]:.1f} s, ratio {ratios[-1]:.3f}")
    middle, goal = statistics.median(ratios), GOALS.get(count)
    verdict = "" if goal is None else f"; goal <= {goal:.2f}: {'met' if middle <= goal else 'MISSED'}"
    print(f"{count:,} trips: median ratio {middle:.3f} ({min(ratios):.3f} to {max(ratios):.3f}){verdict}", flush=True)


def by_hand(directory: Path, jars: str) -> float:
    """Seconds that the hand-written script takes, on an empty lake."""
    lake = directory / "by-hand"
    shutil.rmtree(lake, ignore_errors=True)
    data = directory / "dropzone" / "ny-taxi-data"
    return _timed([sys.executable, str(HERE / "handwritten.py"), str(lake), str(data), jars], directory)


def by_catchment(directory: Path) -> float:
    """Seconds that `catchment run` takes, on an empty lake."""
    for name in ("lake", ".catchment"):
        shutil.rmtree(directory / name, ignore_errors=True)
    program = Path(sys.executable).parent / "catchment"
    return _timed([str(program), "run", "append.yaml"], directory)


def _jars(directory: Path) -> tuple[str, ...]:
    _, made = plan.prepare(directory / "append.yaml").require()
    return packages.install(made.engines[0], print).jars


def _timed(command: list[str], directory: Path) -> float:
    began = time.monotonic()
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)[:80]} failed:\n{done.stderr[-3000:]}")
    return time.monotonic() - began


if __name__ == "__main__":
    main()

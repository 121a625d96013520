"""What a person waits for: the workflow of `catchment init`, a small query, and verbs that need no engine.

    .venv/bin/python bench/latency.py --quick              a few minutes
    .venv/bin/python bench/latency.py                      20 times each, and 1,000 runs one after the other
    .venv/bin/python bench/latency.py --only growth --runs 1000

`by hand` is the same workflow as a PySpark script, started with spark-submit, and the same query with spark-sql; `cold`
is `catchment` with an engine of its own; `warm` is `catchment` with an engine that stays. The verbs that need no engine
run cold, in a new process, beside the import of PyIceberg alone. All of them take turns. The table that is queried is
written once; the runs append to another one.

`growth` runs the workflow many times on one warm engine: the last hundred runs are compared with the first hundred, and
the heap after a collection at the end with the heap after the first hundred. Every hundred runs the table's manifests
are merged and its snapshots expired, so that the engine is measured and not the growth of the table.

Both parts fail if one resident engine has not answered all of the warm commands.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from writers import installed_for

HERE = Path(__file__).parent
BIN = Path(sys.executable).parent
QUERY = "SELECT region, count(*) AS orders FROM lakehouse.shop.orders GROUP BY region"
ORDERS = "dataos://lakehouse:shop/orders"
ENVIRONMENT = {**os.environ, "CI": "true", "PATH": f"{BIN}:{os.environ['PATH']}"}
"""Nothing stays behind by itself, and spark-submit finds its Python."""
HUNDRED = 100
WARM_UP = 20
JOBS = 2
"""The jobs of the workflow of `catchment init`."""
VERBS = {
    "runs": 0.35,
    "writers": 0.35,
    "table ls lakehouse": 0.9,
    f"table show {ORDERS}": 0.9,
    f"table snapshots {ORDERS}": 0.9,
}
"""Verbs that need no engine, with the seconds that they may take."""
PARTS = ("commands", "growth")


def call(*command: str, cwd: Path) -> str:
    """What a command prints; a command that fails ends the benchmark."""
    done = subprocess.run(command, cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}:\n{done.stderr[-2000:]}")
    return done.stdout


def catchment(*arguments: str, cwd: Path) -> str:
    return call(str(BIN / "catchment"), *arguments, cwd=cwd)


def seconds(action: Callable[[], object]) -> float:
    """How long something takes."""
    began = time.monotonic()
    action()
    return time.monotonic() - began


def shop(directory: Path, name: str, *, resident: str = "auto") -> Path:
    """A project as `catchment init` makes it, and its workflow once more with another table."""
    catchment("init", name, cwd=directory)
    root = directory / name
    file, orders = root / "catchment.yaml", (root / "orders.yaml").read_text()
    file.write_text(f"{file.read_text()}\nresident: {resident}\n")
    (root / "again.yaml").write_text(orders.replace("shop/orders", "shop/again"))
    return root


@contextmanager
def warm_engine(root: Path) -> Iterator[None]:
    """An engine that is up, and that is ended whatever happens, also when it has only begun to start."""
    try:
        catchment("up", cwd=root)
        yield
    finally:
        catchment("down", cwd=root)


def commands(directory: Path, repeat: int) -> None:
    """The workflow and the query in three ways each, and the verbs without an engine, in turns."""
    cold, warm, hand = shop(directory, "cold", resident="never"), shop(directory, "warm"), directory / "by-hand"
    orders = str(cold / "data" / "orders.json")
    jars = ",".join(installed_for("local", "iceberg").jars)
    script = (str(BIN / "spark-submit"), "--jars", jars, str(HERE / "orders_by_hand.py"))
    sql = (str(BIN / "spark-sql"), "--jars", jars, *catalog_settings(hand / "asked"), "-e", QUERY)
    pyiceberg = (sys.executable, "-c", "import pyiceberg.table")
    hand.mkdir()
    ways: dict[str, Callable[[], object]] = {
        "run, by hand": lambda: call(*script, str(hand / "lake"), orders, cwd=hand),
        "run, cold": lambda: catchment("run", "again.yaml", cwd=cold),
        "run, warm": lambda: catchment("run", "again.yaml", cwd=warm),
        "query, by hand": lambda: call(*sql, cwd=hand),
        "query, cold": lambda: catchment("query", QUERY, cwd=cold),
        "query, warm": lambda: catchment("query", QUERY, cwd=warm),
        **{f"{verb}, cold": partial(catchment, *verb.split(), cwd=cold) for verb in VERBS},
        "import of PyIceberg": lambda: call(*pyiceberg, cwd=hand),
    }
    found: dict[str, list[float]] = {name: [] for name in ways}
    call(*script, str(hand / "asked"), orders, cwd=hand)
    catchment("run", "orders.yaml", cwd=cold)
    with warm_engine(warm):
        before = resident(warm)
        catchment("run", "orders.yaml", cwd=warm)
        for action in ways.values():
            action()
        for number in range(repeat):
            for name, action in ways.items():
                found[name].append(seconds(action))
            print(f"  {number + 1} of {repeat}: { ({n: round(v[-1], 2) for n, v in found.items()}) }", file=sys.stderr)
        require_warm(before, resident(warm), runs=repeat + 2, queries=repeat + 1)
    for name, measured in found.items():
        print(f"| {name} | {told(measured)} |")
    middle = {name: statistics.median(measured) for name, measured in found.items()}
    goal("run, warm: seconds", middle["run, warm"], 1.5)
    goal("run, cold over by hand", middle["run, cold"] / middle["run, by hand"], 0.7)
    goal("query, warm: seconds", middle["query, warm"], 0.4)
    print(f"- query, warm over by hand: {middle['query, warm'] / middle['query, by hand']:.2f}")
    for verb, limit in VERBS.items():
        goal(f"{verb}, cold: seconds", middle[f"{verb}, cold"], limit)


def catalog_settings(lake: Path) -> Iterator[str]:
    """The catalog of bench/orders_by_hand.py, as options of spark-sql."""
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.catalog.lakehouse": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lakehouse.type": "jdbc",
        "spark.sql.catalog.lakehouse.uri": f"jdbc:sqlite:{lake}/catalog.db?busy_timeout=60000",
        "spark.sql.catalog.lakehouse.warehouse": str(lake),
    }
    for key, value in settings.items():
        yield from ("--conf", f"{key}={value}")


def growth(directory: Path, runs: int) -> None:
    """The same run again and again."""
    root = shop(directory, "growing")
    measured: list[float] = []
    heaps: list[int] = []
    part = max(1, min(HUNDRED, runs // 4))
    with warm_engine(root):
        before = resident(root)
        for _ in range(WARM_UP):
            catchment("run", "orders.yaml", cwd=root)  # until Java has compiled what is used
        while len(measured) < runs:
            measured += [seconds(lambda: catchment("run", "orders.yaml", cwd=root)) for _ in range(part)]
            catchment("table", "rewrite-manifests", ORDERS, cwd=root)
            catchment("table", "expire", ORDERS, "--older-than", "1s", "--yes", cwd=root)
            heaps.append(heap_after_collection(root))
            newest = told(measured[-part:])
            print(f"  {len(measured)} runs: {newest} s, heap {heaps[-1] / 2**20:.0f} MB", file=sys.stderr, flush=True)
        require_warm(before, resident(root), runs=WARM_UP + len(measured))
    first, last = statistics.median(measured[:part]), statistics.median(measured[-part:])
    print(f"| first {part} of {runs} runs | {told(measured[:part])} |\n| last {part} | {told(measured[-part:])} |")
    print(f"| heap after a collection, MB | {', '.join(f'{heap / 2**20:.0f}' for heap in heaps)} |")
    goal(f"last {part} runs over the first {part}", last / first, 1.1)
    goal("heap at the end over that after the first part", heaps[-1] / heaps[0], 1.1)


def heap_after_collection(root: Path) -> int:
    """Bytes that are in use after a full collection of the resident engine."""
    engines = json.loads(catchment("engines", "-o", "json", cwd=root))
    (running,) = (each for engine in engines["engines"] for each in engine["running"])
    worker = running["name"].split(":")[1]
    (java,) = [pid for file in Path(f"/proc/{worker}/task").glob("*/children") for pid in file.read_text().split()]
    call("jcmd", java, "GC.run", cwd=root)
    return int(resident(root)["heap_live"])


def resident(root: Path) -> dict[str, Any]:
    """What is known of the one resident engine of a project."""
    found: list[dict[str, Any]] = json.loads(catchment("engines", "-o", "json", cwd=root))["residents"]
    if len(found) != 1:
        sys.exit(f"{len(found)} resident engines instead of one: {found}")
    return found[0]


def require_warm(before: dict[str, Any], after: dict[str, Any], *, runs: int, queries: int = 0) -> None:
    """End the benchmark unless one resident engine has answered all of these: what does not fit it runs cold."""
    if after["since"] != before["since"]:
        sys.exit("the resident engine was replaced meanwhile: what was measured is not of one engine")
    jobs, answered = (after[name] - before[name] for name in ("jobs", "answered"))
    if jobs != JOBS * runs or answered - jobs < queries:
        sys.exit(
            f"the resident engine has run {jobs} jobs and answered {answered - jobs} other commands, and not "
            f"{JOBS * runs} and {queries}: the others ran elsewhere, so that what was measured is not warm"
        )


def told(measured: Sequence[float]) -> str:
    """The median with the range."""
    return f"{statistics.median(measured):.2f} ({min(measured):.2f}-{max(measured):.2f})"


def goal(what: str, value: float, limit: float) -> None:
    """Print a goal, and whether it was met."""
    print(f"- {what}: {value:.2f}, goal <= {limit:g}: {'met' if value <= limit else 'MISSED'}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="three times each, and 40 runs")
    parser.add_argument("--only", nargs="+", default=PARTS, choices=PARTS)
    parser.add_argument("--repeat", type=int, help="how often each command is measured")
    parser.add_argument("--runs", type=int, help="how many runs `growth` makes on one engine")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # otherwise no engine would be ended
    print("| what | seconds, median and range |\n|---|---|")
    with tempfile.TemporaryDirectory() as directory:
        if "commands" in asked.only:
            commands(Path(directory), asked.repeat or (3 if asked.quick else 20))
        if "growth" in asked.only:
            growth(Path(directory), asked.runs or (40 if asked.quick else 1000))


if __name__ == "__main__":
    main()

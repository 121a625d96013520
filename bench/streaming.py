"""One and eight streams into one Iceberg table: through Catchment, and by Structured Streaming's own sink.

    .venv/bin/python bench/streaming.py --quick        about four minutes
    .venv/bin/python bench/streaming.py --save streaming.json

`backlog`: every stream has its files already, one in each batch; the figure is batches per second, of all streams
together. `paced`: a file for each stream at an interval; the figure is the time between the arrival of a file and the
commit that shows it. Both ways run in the same warm engine, interleaved, on tables of their own with the catalog on
SQLite. Checkpoints are on the local disk. Once the table is there too, once on an S3 server with 40 ms per request.
The plain sink's commits have Iceberg's default retries; a stream of it that fails is counted as failed, and what it has
not written as missing.
"""

from __future__ import annotations

import argparse
import json
import signal
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.servers import s3

from writers import LATENCY_MS, Engine, installed_for

WAYS = ("plain", "catchment")
STORES = ("s3", "local")
GOALS = {1: 1.0, 8: 3.0}
"""How many times as many batches per second as the plain sink, by the number of streams, on S3."""

Case = tuple[str, int, str]
"""Store, number of streams, way."""
Outcomes = Mapping[Case, Sequence[Mapping[str, Any]]]


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer batches, one repetition")
    parser.add_argument("--stores", nargs="+", default=STORES, choices=STORES)
    parser.add_argument("--streams", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--batches", type=int, help="of each stream")
    parser.add_argument("--every", type=float, default=2.0, help="seconds between two files of a stream")
    parser.add_argument("--repeat", type=int)
    parser.add_argument("--save", type=Path, help="write the figures here (JSON)")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # otherwise engines would be left
    batches, repeat = asked.batches or (5 if asked.quick else 10), asked.repeat or (1 if asked.quick else 3)
    found: dict[Case, list[dict[str, Any]]] = {}
    for store in asked.stores:
        with engine(store) as live:
            for way in WAYS:
                live.ask(do="backlog", way=way, streams=2, batches=3)  # warms up
            for _ in range(repeat):
                for streams in asked.streams:
                    for way in WAYS:
                        outcome = _measure(live, way, streams, batches, asked.every)
                        found.setdefault((store, streams, way), []).append(outcome)
                        told = f"{outcome['rate']:6.2f} batches/s, lag {_median(outcome['lag']):.2f} s"
                        print(f"{store:6} {streams} {way:10} {told} {outcome['failures']}", file=sys.stderr, flush=True)
    report(found)
    if asked.save:
        figures = {" ".join(map(str, case)): outcomes for case, outcomes in found.items()}
        asked.save.write_text(json.dumps(figures, indent=1) + "\n")


def _measure(live: Engine, way: str, streams: int, batches: int, every: float) -> dict[str, Any]:
    backlog = live.ask(do="backlog", way=way, streams=streams, batches=batches)
    paced = live.ask(do="paced", way=way, streams=streams, batches=batches, every=every)
    return {
        "rate": backlog["rate"],
        "commits": backlog["commits"],
        "lag": paced["lag"],
        "missing": backlog["missing"] + paced["missing"],
        "failures": [*backlog["failures"], *paced["failures"]],
    }


def _median(values: Sequence[float]) -> float:
    return statistics.median(values) if values else float("nan")


def _p99(values: Sequence[float]) -> float:
    return sorted(values)[int(len(values) * 0.99)] if values else float("nan")


def _told(values: Sequence[float], digits: int = 2) -> str:
    """The median with the range."""
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}-{max(values):.{digits}f})"


def report(found: Outcomes) -> None:
    """Print the figures as a table, and each goal as met or missed."""
    print("| store | streams | way | batches/s | commits | lag p50 s | lag p99 s | streams that failed | missing |")
    print("|---|---|---|---|---|---|---|---|---|")
    for (store, streams, way), outcomes in found.items():
        rates, commits = [each["rate"] for each in outcomes], [each["commits"] for each in outcomes]
        lags = [lag for each in outcomes for lag in each["lag"]]
        failed, missing = (sum(map(len, (each["failures"] for each in outcomes))), sum(e["missing"] for e in outcomes))
        cells = (_told(rates), _told(commits, 0), f"{_median(lags):.2f}", f"{_p99(lags):.2f}", failed, missing)
        print(f"| {' | '.join(map(str, (store, streams, way, *cells)))} |")
    print()
    for goal in goals(found):
        print(goal)


def goals(found: Outcomes) -> Iterator[str]:
    """What streams through Catchment are to do, and what they do."""
    for store, streams, way in found:
        if way != "catchment":
            continue
        ours, plain = found[store, streams, "catchment"], found.get((store, streams, "plain"))
        wrong = sum(len(each["failures"]) + each["missing"] for each in ours)
        yield f"- {store}, {streams} streams, failures or missing rows: {wrong}, goal 0: {_verdict(not wrong)}"
        if plain:
            ratio = _median([each["rate"] for each in ours]) / _median([each["rate"] for each in plain])
            told = f"- {store}, {streams} streams, batches per second against the plain sink: {ratio:.2f}"
            goal = GOALS.get(streams) if store == "s3" else None
            yield told if goal is None else f"{told}, goal >= {goal:g}: {_verdict(ratio >= goal)}"


def _verdict(met: bool) -> str:  # noqa: FBT001
    return "met" if met else "MISSED"


@contextmanager
def engine(store: str) -> Iterator[Engine]:
    """An engine with a lake of its own on the local disk or on an S3 server."""
    with tempfile.TemporaryDirectory() as text:
        directory = Path(text)
        warehouse, endpoint, server = str(directory / "warehouse"), "", None
        if store == "s3":
            server = s3.start(s3.jar(), directory / "s3", latency_ms=LATENCY_MS)
            warehouse = "s3a://lake/warehouse"
            conf = {key.removeprefix("spark.hadoop.fs.s3a."): value for key, value in server.spark_conf().items()}
            endpoint = json.dumps(conf)
        live = Engine(directory, warehouse, installed_for(store, "iceberg"), endpoint, "streaming_engine.py")
        try:
            live.answer()
            yield live
        finally:
            live.stop()
            if server:
                server.stop()


if __name__ == "__main__":
    main()

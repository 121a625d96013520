"""One and many streams into one Iceberg table: through Catchment, and by Structured Streaming's own sink.

    .venv/bin/python bench/streaming.py --quick        a few minutes
    .venv/bin/python bench/streaming.py                as long as it takes
    .venv/bin/python bench/streaming.py --save docs/benchmarks/streaming.json

`backlog`: every stream has its files already, one in each batch; the figure is batches per second, of all streams
together. `paced`: a file for each stream at an interval; the figure is the time between the arrival of a file and the
commit that shows it. Both ways run in the same warm engine, interleaved, on tables of their own with the catalog on
SQLite. Checkpoints are on the local disk. Once the table is there too, once on an S3 server with 40 ms per request.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.servers import s3

from writers import LATENCY_MS, Engine, installed_for

WAYS = ("plain", "catchment")
GOALS = {1: 1.0, 8: 3.0}
"""How many times as many batches per second as the plain sink, by the number of streams, on S3."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer batches, one repetition")
    parser.add_argument("--stores", nargs="+", default=["local", "s3"], choices=["local", "s3"])
    parser.add_argument("--streams", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--batches", type=int)
    parser.add_argument("--every", type=float, default=2.0, help="seconds between two files of a stream")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--save", type=Path, help="write the figures here (JSON)")
    asked = parser.parse_args()
    batches, repeat = asked.batches or (5 if asked.quick else 20), 1 if asked.quick else asked.repeat
    found: dict[str, list[dict[str, Any]]] = {}
    for store in asked.stores:
        with engine(store) as live:
            for way in WAYS:
                live.ask(do="backlog", way=way, streams=2, batches=2)  # warms up
            for _ in range(repeat):
                for streams in asked.streams:
                    for way in WAYS:
                        _measure(live, found, f"{store} {streams} {way}", way, streams, batches, asked.every)
    figures = {case: _figures(outcomes) for case, outcomes in found.items()}
    print(json.dumps(figures, indent=1))
    if asked.save:
        asked.save.write_text(json.dumps(figures, indent=1) + "\n")
    sys.exit(1 if _problems(figures) else 0)


def _measure(
    live: Engine, found: dict[str, list[dict[str, Any]]], case: str, way: str, streams: int, batches: int, every: float
) -> None:
    backlog = live.ask(do="backlog", way=way, streams=streams, batches=batches)
    paced = live.ask(do="paced", way=way, streams=streams, batches=batches, every=every)
    failures = [*backlog["failures"], *paced["failures"]]
    missing = backlog["missing"] + paced["missing"]
    outcome = {"rate": backlog["rate"], "lag": paced["lag"], "missing": missing, "failures": failures}
    found.setdefault(case, []).append(outcome)
    print(f"{case:24} {outcome['rate']:6.2f} batches/s, lag {_median(outcome['lag']):.2f} s", file=sys.stderr)


def _figures(outcomes: list[dict[str, Any]]) -> dict[str, Any]:
    lags = sorted(lag for outcome in outcomes for lag in outcome["lag"])
    return {
        "batches_per_second": round(statistics.median(outcome["rate"] for outcome in outcomes), 3),
        "lag_p50": round(_median(lags), 3),
        "lag_p99": round(lags[int(len(lags) * 0.99)], 3) if lags else None,
        "missing": sum(outcome["missing"] for outcome in outcomes),
        "failures": [failure for outcome in outcomes for failure in outcome["failures"]],
    }


def _median(values: list[float]) -> float:
    return statistics.median(values) if values else float("nan")


def _problems(figures: dict[str, dict[str, Any]]) -> list[str]:
    """What fell short, each told on standard error."""
    problems = [f"{case}: {each}" for case, each in figures.items() if "catchment" in case and each["missing"]]
    problems += [f"{case}: {each}" for case, each in figures.items() if "catchment" in case and each["failures"]]
    for streams, goal in GOALS.items():
        ours, plain = (figures.get(f"s3 {streams} {way}") for way in ("catchment", "plain"))
        if ours and plain:
            ratio = ours["batches_per_second"] / plain["batches_per_second"]
            print(f"{streams} streams on S3: {ratio:.2f} times the plain sink (goal {goal})", file=sys.stderr)
            problems += [f"{streams} streams: {ratio:.2f} < {goal}"] if ratio < goal else []
    for problem in problems:
        print(f"PROBLEM {problem}", file=sys.stderr)
    return problems


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

"""A seeded generator of New York taxi trips, as JSON lines. The same seed gives the same trips on every machine."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

MONTHS = {1: range(1, 10), 2: range(4, 13)}
"""The months in which each vendor drives: both drive from April to September, only one in each other month."""
YEAR = 2025


@dataclass(frozen=True)
class Trips:
    """The numbers of generated trips, for checks."""

    total: int
    by_vendor: dict[int, int]
    by_vendor_month: dict[tuple[int, int], int]


def generate(count: int, *, seed: int = 42) -> Iterator[dict[str, object]]:
    """Yield `count` trips."""
    chance = random.Random(seed)  # noqa: S311 - repeatable data, not a secret
    for number in range(count):
        yield _trip(number, chance)


def write(directory: Path, count: int, *, seed: int = 42, per_file: int = 50_000) -> Trips:
    """Write `count` trips into `directory` as JSON lines and return their counts."""
    directory.mkdir(parents=True, exist_ok=True)
    by_vendor_month: dict[tuple[int, int], int] = {}
    lines: list[str] = []
    part = 0
    for trip in generate(count, seed=seed):
        key = (int(str(trip["vendor_id"])), _month(int(str(trip["pickup_datetime"]))))
        by_vendor_month[key] = by_vendor_month.get(key, 0) + 1
        lines.append(json.dumps(trip, separators=(",", ":")))
        if len(lines) == per_file:
            _flush(directory, part, lines)
            part, lines = part + 1, []
    if lines:
        _flush(directory, part, lines)
    by_vendor = {v: sum(n for (vendor, _), n in by_vendor_month.items() if vendor == v) for v in MONTHS}
    return Trips(count, by_vendor, by_vendor_month)


def _flush(directory: Path, part: int, lines: list[str]) -> None:
    (directory / f"trips-{part:04}.json").write_text("\n".join(lines) + "\n")


def _trip(number: int, chance: random.Random) -> dict[str, object]:
    vendor = chance.choice((1, 2))
    month = chance.choice(MONTHS[vendor])
    pickup = datetime(YEAR, month, 1, tzinfo=timezone.utc) + timedelta(seconds=chance.randrange(28 * 86_400))
    minutes = chance.randrange(2, 90)
    distance = round(minutes * chance.uniform(0.1, 0.5), 2)
    fare = round(2.5 + 2.5 * distance, 2)
    tip = round(fare * chance.choice((0, 0, 0.1, 0.15, 0.2)), 2)
    return {
        "trip_id": number,
        "vendor_id": vendor,
        "pickup_datetime": _millis(pickup),
        "dropoff_datetime": _millis(pickup + timedelta(minutes=minutes)),
        "passenger_count": chance.randrange(1, 6),
        "trip_distance": distance,
        "pickup_longitude": round(chance.uniform(-74.02, -73.77), 6),
        "pickup_latitude": round(chance.uniform(40.63, 40.85), 6),
        "dropoff_longitude": round(chance.uniform(-74.02, -73.77), 6),
        "dropoff_latitude": round(chance.uniform(40.63, 40.85), 6),
        "rate_code": chance.randrange(1, 6),
        "store_and_fwd_flag": chance.choice("NNNY"),
        "payment_type": chance.choice(("CRD", "CSH", "NOC", "DIS")),
        "fare_amount": fare,
        "tip_amount": tip,
        "tolls_amount": chance.choice((0.0, 0.0, 0.0, 5.54)),
        "total_amount": round(fare + tip, 2),
    }


def _millis(moment: datetime) -> int:
    return int(moment.timestamp()) * 1000


def _month(millis: int) -> int:
    return datetime.fromtimestamp(millis / 1000, timezone.utc).month

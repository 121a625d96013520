"""The picture of bench/writers.py: acknowledged writes per second over the number of writers, per format and store."""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

OURS, PLAIN, TUNED = "#1f6f8b", "#b0413e", "#8a8a8a"


@dataclass(frozen=True)
class Line:
    way: str
    label: str
    colour: str


FORMATS = {
    "Iceberg": (
        Line("plain", "Iceberg's own commit", PLAIN),
        Line("tuned", "the same, retries tuned", TUNED),
        Line("catchment", "Catchment", OURS),
    ),
    "Delta": (Line("delta-plain", "Delta's own commit", PLAIN), Line("delta", "Catchment", OURS)),
    "Paimon": (
        Line("paimon-plain", "Paimon's own commit", PLAIN),
        Line("paimon-locked", "the same, with a lock", TUNED),
        Line("paimon", "Catchment", OURS),
    ),
}
STORES = {"local": "local disk", "s3": "S3, 40 ms per request"}

Row = dict[str, Any]


def draw(figures: Sequence[Path], picture: Path) -> None:
    """Draw what runs of `bench/writers.py --save` wrote."""
    rows: list[Row] = [row for file in figures for row in json.loads(file.read_text())]
    ways = {row["way"] for row in rows}
    formats = {name: lines for name, lines in FORMATS.items() if ways & {line.way for line in lines}}
    stores = [store for store in STORES if any(row["store"] == store for row in rows)]
    size = (5 * len(stores), 3 * len(formats) + 0.5)
    figure, axes = plt.subplots(len(formats), len(stores), figsize=size, squeeze=False, sharex=True)
    for name, line_of_axes in zip(formats, axes, strict=True):
        for store, panel in zip(stores, line_of_axes, strict=True):
            _panel(panel, [row for row in rows if row["store"] == store], formats[name])
            panel.set_title(f"{name}, {STORES[store]}")
    for panel in axes[-1]:
        panel.set_xlabel("writers")
    for panel in axes[:, 0]:
        panel.set_ylabel("acknowledged writes per second")
        panel.legend()
    figure.tight_layout()
    figure.savefig(picture, metadata={"Date": None})


def _panel(panel: Axes, rows: list[Row], lines: tuple[Line, ...]) -> None:
    for line in lines:
        mine = sorted((row for row in rows if row["way"] == line.way), key=lambda row: row["writers"])
        rates = [_middle(row, "rate") for row in mine]
        panel.plot([row["writers"] for row in mine], rates, marker="o", color=line.colour, label=line.label)
        for row, rate in zip(mine, rates, strict=True):
            if said := _missing(row):
                place = (row["writers"], rate)
                panel.annotate(said, place, (0, 6), textcoords="offset points", fontsize=7, color=line.colour)
    counts = sorted({row["writers"] for row in rows})
    panel.set_xscale("log", base=4)
    panel.set_xticks(counts, labels=[str(count) for count in counts])
    panel.set_ylim(bottom=0)


def _missing(row: Row) -> str:
    """The share of writes that failed, and the number of acknowledged ones that are not in the table."""
    failed, acknowledged, lost = (_middle(row, name) for name in ("failed", "acknowledged", "lost"))
    parts = [f"{100 * failed / (failed + acknowledged):.0f} % failed"] if failed else []
    return ", ".join([*parts, *([f"{lost:.0f} lost"] if lost else [])])


def _middle(row: Row, name: str) -> float:
    return float(statistics.median(outcome[name] for outcome in row["outcomes"]))


if __name__ == "__main__":
    *measured, drawn = map(Path, sys.argv[1:])
    draw(measured, drawn)

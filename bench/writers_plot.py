"""The picture of bench/writers.py: rate and share of failed writes over the number of writers, per store and way."""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

COLOURS = {"plain": "#b0413e", "tuned": "#8a8a8a", "catchment": "#1f6f8b"}
LABELS = {"plain": "plain Iceberg", "tuned": "Iceberg, retries tuned", "catchment": "Catchment"}


def draw(figures: Path, picture: Path) -> None:
    """Draw what `bench/writers.py --save` wrote."""
    rows: list[dict[str, Any]] = json.loads(figures.read_text())
    stores = list(dict.fromkeys(row["store"] for row in rows))
    figure, axes = plt.subplots(2, len(stores), figsize=(5 * len(stores), 6), squeeze=False, sharex=True)
    for column, store in enumerate(stores):
        for way, colour in COLOURS.items():
            mine = sorted((r for r in rows if r["store"] == store and r["way"] == way), key=lambda r: r["writers"])
            counts = [row["writers"] for row in mine]
            rates = [statistics.median(o["rate"] for o in row["outcomes"]) for row in mine]
            lost = [statistics.median(_failed(o) for o in row["outcomes"]) for row in mine]
            axes[0][column].plot(counts, rates, marker="o", color=colour, label=LABELS[way])
            axes[1][column].plot(counts, lost, marker="o", color=colour, label=LABELS[way])
        axes[0][column].set_title("local disk" if store == "local" else "S3, 40 ms per request")
        axes[1][column].set_xlabel("writers")
        axes[1][column].set_xscale("log", base=4)
        axes[1][column].set_xticks(counts, labels=[str(count) for count in counts])
        axes[0][column].set_ylim(bottom=0)
    axes[0][0].set_ylabel("acknowledged writes per second")
    axes[1][0].set_ylabel("failed writes, %")
    axes[0][0].legend()
    figure.tight_layout()
    figure.savefig(picture, metadata={"Date": None})


def _failed(outcome: dict[str, Any]) -> float:
    return float(100 * outcome["failed"] / max(1, outcome["failed"] + outcome["acknowledged"]))


if __name__ == "__main__":
    draw(Path(sys.argv[1]), Path(sys.argv[2]))

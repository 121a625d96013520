"""The picture of bench/overwrite.py: seconds per rewrite, per store, number of partitions and way."""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

COLOURS = {"loop": "#8a8a8a", "spark": "#b0413e", "files": "#1f6f8b", "iceberg": "#3d9970", "delta": "#7a5c99"}
LABELS = {
    "loop": "a loop over partitions",
    "spark": "Spark's dynamic overwrite",
    "files": "Catchment, Parquet",
    "iceberg": "Catchment, Iceberg",
    "delta": "Catchment, Delta",
}


def draw(figures: Path, picture: Path) -> None:
    """Draw what `bench/overwrite.py --save` wrote."""
    rows: list[dict[str, Any]] = json.loads(figures.read_text())
    stores = list(dict.fromkeys(row["store"] for row in rows))
    figure, axes = plt.subplots(1, len(stores), figsize=(6.5 * len(stores), 4.5), squeeze=False)
    for axis, store in zip(axes[0], stores, strict=True):
        mine = [row for row in rows if row["store"] == store]
        cases = list(dict.fromkeys((row["partitions"], row["share"]) for row in mine))
        for number, way in enumerate(LABELS):
            medians = {
                (row["partitions"], row["share"]): statistics.median(o["seconds"] for o in row["outcomes"])
                for row in mine
                if row["way"] == way
            }
            places = [place + 0.16 * (number - 2) for place, case in enumerate(cases) if case in medians]
            heights = [medians[case] for case in cases if case in medians]
            axis.bar(places, heights, width=0.15, color=COLOURS[way], label=LABELS[way])
        axis.set_title("local disk" if store == "local" else "S3, 40 ms per request")
        axis.set_xticks(range(len(cases)), labels=[f"{share} % of {count}" for count, share in cases])
        axis.set_yscale("log")
        axis.set_xlabel("partitions rewritten")
    axes[0][0].set_ylabel("seconds, median")
    axes[0][0].legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(picture, metadata={"Date": None})


if __name__ == "__main__":
    draw(Path(sys.argv[1]), Path(sys.argv[2]))

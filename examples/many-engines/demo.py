"""Runs the workflow of this directory in a fresh copy, and checks what it has written: `make demo-engines`."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import catchment
from catchment.events.console import Console

HERE = Path(__file__).parent
MARK = ".catchment-demo"
ROWS = 1000
"""Orders, clicks and profiles; each line of Spark writes half of the orders and of the clicks."""


def lay_out(root: Path) -> None:
    """Copy the project, and make its data. Only a directory that an earlier demo made is emptied."""
    if root.exists():
        if not (root / MARK).exists():
            sys.exit(f"{root} was not made by this demo: remove it, or name another directory")
        shutil.rmtree(root)
    (root / "data").mkdir(parents=True)
    (root / MARK).touch()
    for name in ("catchment.yaml", "many-engines.yaml"):
        shutil.copy(HERE / name, root / name)
    orders = ({"id": number, "amount": number / 2} for number in range(ROWS))
    clicks = ({"id": number, "page": f"/page/{number % 7}"} for number in range(ROWS))
    for name, rows in (("orders", orders), ("clicks", clicks)):
        (root / "data" / f"{name}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))


def expected() -> dict[str, list[tuple[object, ...]]]:
    """What each query must return."""
    half = ROWS // 2
    even, odd = (sum(number / 2 for number in range(start, ROWS, 2)) for start in (0, 1))
    per_line: list[tuple[object, ...]] = [("3.5", half, half), ("4.1", half, half)]
    counts = "SELECT spark, count(*), count(DISTINCT id) FROM {} GROUP BY spark ORDER BY spark"
    return {
        counts.format("lakehouse.shop.orders"): per_line,
        counts.format("delta.`{root}/events/shop/clicks`"): per_line,
        "SELECT count(*), count(DISTINCT id), count(amount), count(page) FROM pond.shop.profiles": [(ROWS,) * 4],
        "SELECT spark, orders, amount, clicks, profiles FROM parquet.`{root}/archive/report` ORDER BY spark": [
            ("3.5", half, odd, half, half),
            ("4.1", half, even, half, half),
        ],
    }


def main(root: Path) -> int:
    """Run the workflow and compare; 1 if a number is wrong."""
    lay_out(root)
    project = catchment.open(root)
    run = project.run("many-engines.yaml", sinks=[Console()])
    if run.status != "succeeded":
        return 1
    wrong = 0
    with project.lake("old") as lake:  # the only one that can read every table
        for sql, rows in expected().items():
            found = list(lake.query(sql.replace("{root}", str(root.resolve()))).rows)
            wrong += found != rows
            print(f"{'ok   ' if found == rows else 'WRONG'} {sql}\n      {found}")
    print("every row is there once, whichever Spark wrote it" if not wrong else f"{wrong} answers are wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo-engines")))

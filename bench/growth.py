"""What a commit costs as writes and tables grow: each budget with the figure beside it; exit code 1 if one is exceeded.

    .venv/bin/python bench/growth.py --quick            small sizes, a few minutes
    .venv/bin/python bench/growth.py                    as long as it takes
    .venv/bin/python bench/growth.py --beside PATH      another checkout in the same run, interleaved
    .venv/bin/python bench/growth.py --only files history

All figures are seconds under the table's lease, where nobody else can publish. Tables with a long history are made of
metadata alone: their snapshots share one manifest list. Each version of Catchment has an engine and a lake of its own.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from writers import Engine, installed_for

OURS = "catchment"


@dataclass(frozen=True)
class Sizes:
    files: int = 20_000
    history: int = 20_000
    """Snapshots of the table whose history is searched, and after whose schema change writes are published."""
    writes: int = 256
    long: int = 100_000
    short: int = 100


QUICK = Sizes(files=2_000, history=2_000, writes=32, long=5_000)


@dataclass(frozen=True)
class Budget:
    """Something that must stay cheap."""

    name: str
    what: str
    limit: float
    unit: str
    prepare: Callable[[Engine, Sizes], None]
    measure: Callable[[Engine, Sizes], float]
    """One repetition, in the unit of the budget."""


def _files(engine: Engine, sizes: Sizes) -> float:
    return engine.ask(do="commit", table="files", files=sizes.files) / sizes.files * 1000


def _history(engine: Engine, sizes: Sizes) -> float:
    """What it costs to search all the history but its very end, over not searching it."""
    back = sizes.history - 1
    seconds = []
    for begun in (0, back):
        engine.ask(do="reopen", table="history")
        seconds.append(engine.ask(do="commit", table="history", back=begun))
    return max(0.0, seconds[1] - seconds[0]) / back * 1000


def _long(engine: Engine, sizes: Sizes) -> float:
    return engine.ask(do="commit", table="long") / engine.ask(do="commit", table="short")


def _whole(engine: Engine, sizes: Sizes) -> float:
    return engine.ask(do="write", table="long") / engine.ask(do="write", table="short")


def _schema(engine: Engine, sizes: Sizes) -> float:
    return engine.ask(do="commit", table="schema", writes=sizes.writes, widen=True)


def _nothing(engine: Engine, sizes: Sizes) -> None:
    """The tables of the budget before this one are used."""


def _table(columns: int = 0, **snapshots: Callable[[Sizes], int]) -> Callable[[Engine, Sizes], None]:
    """Makes tables with so many snapshots, and warms them up."""

    def prepare(engine: Engine, sizes: Sizes) -> None:
        for name, count in snapshots.items():
            engine.ask(do="create", table=name, snapshots=count(sizes), columns=columns)
            engine.ask(do="commit", table=name)

    return prepare


BUDGETS = (
    Budget("files", "a file of a sealed write", 0.1, "ms", _table(columns=18, files=lambda s: 1), _files),
    Budget("history", "a look at 1,000 snapshots", 0.05, "s", _table(history=lambda s: s.history), _history),
    Budget(
        "long",
        "a commit to a long history over one to a short history",
        1.5,
        "x",
        _table(long=lambda s: s.long, short=lambda s: s.short),
        _long,
    ),
    Budget("long", "the same for a whole small write", math.inf, "x", _nothing, _whole),
    Budget("schema", "many writes after a schema change", 3.0, "s", _table(schema=lambda s: s.history), _schema),
)


@dataclass(frozen=True)
class Figure:
    budget: Budget
    version: str
    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def met(self) -> bool:
        return self.median <= self.budget.limit

    def __str__(self) -> str:
        return f"{self.median:.3g} {self.budget.unit} ({min(self.values):.3g}-{max(self.values):.3g})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--only", nargs="+", choices=sorted({budget.name for budget in BUDGETS}))
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--beside", type=Path, help="another checkout, measured in the same run")
    parser.add_argument("--save", type=Path, help="write the figures here (JSON)")
    asked = parser.parse_args()
    sizes = QUICK if asked.quick else Sizes()
    wanted = [budget for budget in BUDGETS if not asked.only or budget.name in asked.only]
    with tempfile.TemporaryDirectory() as directory, versions(Path(directory), asked.beside) as engines:
        figures = [figure for budget in wanted for figure in measured(budget, engines, sizes, asked.repeat)]
    report(figures, sizes)
    if asked.quick:
        print("The sizes are small: budgets in seconds hold for the full ones.")
    if asked.save:
        rows = [{"budget": f.budget.name, "version": f.version, "values": f.values} for f in figures]
        asked.save.write_text(json.dumps({"sizes": sizes.__dict__, "figures": rows}, indent=1) + "\n")
    if any(not figure.met for figure in figures if figure.version == OURS):
        sys.exit(1)


@contextmanager
def versions(directory: Path, beside: Path | None) -> Iterator[dict[str, Engine]]:
    """An engine on a lake of its own for each version that is measured."""
    checkouts = {OURS: None, **({"beside": beside} if beside else {})}
    installed, started = installed_for("local", "iceberg"), {}
    try:
        for version, checkout in checkouts.items():
            lake = directory / version
            lake.mkdir()
            started[version] = Engine(lake, str(lake / "warehouse"), installed, "", "growing_engine.py", checkout)
            assert started[version].answer() == "ready"
        yield started
    finally:
        for engine in started.values():
            engine.stop()


def measured(budget: Budget, engines: dict[str, Engine], sizes: Sizes, repeat: int) -> list[Figure]:
    """The figure of each version; repetitions take turns."""
    for engine in engines.values():
        budget.prepare(engine, sizes)
    values: dict[str, list[float]] = {version: [] for version in engines}
    for _ in range(repeat):
        for version, engine in engines.items():
            values[version].append(budget.measure(engine, sizes))
            print(f"  {budget.name:8} {version:9} {values[version][-1]:.4g} {budget.unit}", file=sys.stderr, flush=True)
    return [Figure(budget, version, tuple(each)) for version, each in values.items()]


def report(figures: list[Figure], sizes: Sizes) -> None:
    """The table of budgets: medians with their range, and each one met or missed."""
    print(", ".join(f"{name}: {value:,}" for name, value in sizes.__dict__.items()))
    print("| budget | limit | figure | beside | |")
    print("|---|---|---|---|---|")
    other = {figure.budget: figure for figure in figures if figure.version != OURS}
    for figure in (each for each in figures if each.version == OURS):
        budget = figure.budget
        limited = math.isfinite(budget.limit)
        limit, result = (f"{budget.limit:g} {budget.unit}", "met" if figure.met else "MISSED") if limited else ("", "")
        print(f"| {budget.what} | {limit} | {figure} | {other.get(budget, '')} | {result} |")


if __name__ == "__main__":
    main()

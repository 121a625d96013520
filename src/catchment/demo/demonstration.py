"""The demonstration: make trips, run each scenario while a reader queries the table, and check what it saw."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from catchment import plan, project, run
from catchment.demo import scenarios, trips
from catchment.demo.reader import Observed, WatchingReader
from catchment.errors import RequestError
from catchment.events.console import Console
from catchment.run.lake import LakeSession

MARK = ".catchment-demo"


@dataclass(frozen=True)
class RoundResult:
    """One round of one scenario: what the reader saw, what the table holds at the end, and any problems."""

    title: str
    round: int
    seconds: float
    queries: int
    states: int
    rows: dict[int, int]
    """Rows per vendor at the end."""
    problems: tuple[str, ...]


def prepare(directory: Path, count: int) -> trips.Trips:
    """Lay out the demo project in `directory`. Only a directory that an earlier demo made is emptied."""
    if directory.exists() and any(directory.iterdir()):
        if not (directory / MARK).exists():
            raise RequestError(
                f"{directory} is not empty, and it was not made by a demo",
                code="directory-not-empty",
                hint="name another directory with --directory",
            )
        shutil.rmtree(directory)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / MARK).touch()
    for source in resources.files("catchment.demo").joinpath("workflows").iterdir():
        (directory / source.name).write_text(source.read_text())
    return trips.write(directory / "dropzone" / "ny-taxi-data", count)


def run_scenarios(directory: Path, made: trips.Trips, tell: Callable[[str], None]) -> tuple[RoundResult, ...]:
    """Run every scenario of the demonstration."""
    tell("starting the reader's engine")
    with LakeSession(project.load(directory), tell=tell) as reader:
        return tuple(
            _round(directory, scenario, number, reader, tell)
            for scenario in scenarios.scenarios(made)
            for number in range(1, scenario.rounds + 1)
        )


def _round(
    directory: Path, scenario: scenarios.Scenario, number: int, reader: LakeSession, tell: Callable[[str], None]
) -> RoundResult:
    tell(f"{scenario.title} (round {number} of {scenario.rounds})")
    began = time.monotonic()
    with WatchingReader(lambda: reader.query(scenario.query).rows) as watch:
        failures = _run(directory / scenario.workflow)
    seconds = time.monotonic() - began
    final = scenarios.state(reader.query(scenario.query).rows) if not failures else scenarios.State()
    allowed = scenario.meanwhile if number == 1 else scenario.final
    return RoundResult(
        scenario.title,
        number,
        seconds,
        len(watch.seen.states),
        len(set(watch.seen.states)),
        _rows_by_vendor(final),
        (*failures, *_reader_problems(watch.seen, allowed), *_final_problems(final, scenario)),
    )


def _run(workflow: Path) -> tuple[str, ...]:
    lake, made = plan.prepare(workflow).require()
    outcome = run.start(made, lake, sinks=[Console()])
    return tuple(f"job {j.name} {j.status}: {j.error.message}" for j in outcome.jobs if j.error)


def _reader_problems(seen: Observed, allowed: frozenset[scenarios.State]) -> Sequence[str]:
    errors = [f"the reader failed: {error.message}" for error in seen.errors]
    strange = [f"the reader saw a partial write: {sorted(s)}" for s in set(seen.states) - allowed]
    return errors + strange


def _final_problems(final: scenarios.State, scenario: scenarios.Scenario) -> Sequence[str]:
    return [] if final in scenario.final else [f"the table does not hold what it should: {sorted(final)}"]


def _rows_by_vendor(seen: scenarios.State) -> dict[int, int]:
    return {vendor: sum(n for v, _, n in seen if v == vendor) for vendor in sorted({v for v, _, _ in seen})}

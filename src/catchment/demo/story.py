"""The demonstration from end to end: make trips, run each act while a reader watches, check what was seen."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from catchment import plan, project, run
from catchment.demo import acts as stage
from catchment.demo import trips
from catchment.demo.watch import Seen, Watch
from catchment.errors import RequestError
from catchment.events.console import Console
from catchment.run.lake import LakeSession

MARK = ".catchment-demo"


@dataclass(frozen=True)
class Scene:
    """One round of one act: what the reader saw, what the table holds, and what is wrong with either."""

    title: str
    round: int
    seconds: float
    queries: int
    states: int
    rows: dict[int, int]
    """Rows per vendor at the end."""
    problems: tuple[str, ...]


def prepare(directory: Path, count: int) -> trips.Trips:
    """Lay out the demo project in `directory`, anew; only a directory that a demo made is ever emptied."""
    if directory.exists() and any(directory.iterdir()):
        if not (directory / MARK).exists():
            raise RequestError(
                f"{directory} is not empty, and no demo made it.",
                code="directory-not-empty",
                hint="Name another place with --directory.",
            )
        shutil.rmtree(directory)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / MARK).touch()
    for source in resources.files("catchment.demo").joinpath("workflows").iterdir():
        (directory / source.name).write_text(source.read_text())
    return trips.write(directory / "dropzone" / "ny-taxi-data", count)


def play(directory: Path, made: trips.Trips, tell: Callable[[str], None]) -> tuple[Scene, ...]:
    """Run every act of the demonstration."""
    tell("starting the reader's engine")
    with LakeSession(project.load(directory), tell=tell) as reader:
        return tuple(
            _round(directory, act, number, reader, tell)
            for act in stage.acts(made)
            for number in range(1, act.rounds + 1)
        )


def _round(directory: Path, act: stage.Act, number: int, reader: LakeSession, tell: Callable[[str], None]) -> Scene:
    tell(f"{act.title} (round {number} of {act.rounds})")
    began = time.monotonic()
    with Watch(lambda: reader.query(act.query).rows) as watch:
        failures = _run(directory / act.workflow)
    seconds = time.monotonic() - began
    final = stage.state(reader.query(act.query).rows) if not failures else stage.State()
    allowed = act.meanwhile if number == 1 else act.final
    return Scene(
        act.title,
        number,
        seconds,
        len(watch.seen.states),
        len(set(watch.seen.states)),
        _rows_by_vendor(final),
        (*failures, *_reader_problems(watch.seen, allowed), *_final_problems(final, act)),
    )


def _run(workflow: Path) -> tuple[str, ...]:
    lake, made = plan.prepare(workflow).require()
    outcome = run.start(made, lake, sinks=[Console()])
    return tuple(f"job {j.name} {j.status}: {j.error.message}" for j in outcome.jobs if j.error)


def _reader_problems(seen: Seen, allowed: frozenset[stage.State]) -> Sequence[str]:
    errors = [f"the reader failed: {error.message}" for error in seen.errors]
    strange = [f"the reader saw a partial write: {sorted(s)}" for s in set(seen.states) - allowed]
    return errors + strange


def _final_problems(final: stage.State, act: stage.Act) -> Sequence[str]:
    return [] if final in act.final else [f"the table does not hold what it should: {sorted(final)}"]


def _rows_by_vendor(seen: stage.State) -> dict[int, int]:
    return {vendor: sum(n for v, _, n in seen if v == vendor) for vendor in sorted({v for v, _, _ in seen})}

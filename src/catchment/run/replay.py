"""Doing again what an earlier run did, as a run of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from catchment.project.model import Project
from catchment.run.history import known_run
from catchment.store import open_store


@dataclass(frozen=True)
class Replayed:
    """What a new run takes from an earlier one."""

    file: Path
    reference_time: str


def find(project: Project, run_id: str) -> Replayed:
    """The file and the reference time of a run; raises where there is no such run."""
    with open_store(project.metastore) as store:
        record = known_run(store, run_id)
    return Replayed(Path(record.file), record.reference_time)

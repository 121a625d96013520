"""The log files of runs: which files they are, and their text as it is written."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from catchment.errors import RequestError
from catchment.project.model import Project
from catchment.run.identity import log_directory
from catchment.run.run_history import known_run, read_run
from catchment.store import read_store

LOOK_SECONDS = 0.2
"""How often the files are looked at."""


def log_files(project: Project, run_id: str, job: str | None = None) -> list[Path]:
    """The log files of a run: those of its jobs, oldest first, then those of its engines. With a job, only its own."""
    with read_store(project.metastore) as store:
        known_run(store, run_id)
        names = [record.name for record in store.runs.jobs(run_id)]
    if job is not None and job not in names:
        raise RequestError(
            f"run {run_id} has no job `{job}`", code="job-not-found", hint=f"its jobs are: {', '.join(names)}"
        )
    return _files(log_directory(project, run_id), job)


def follow(project: Project, run_id: str, job: str | None = None) -> Iterator[tuple[Path, str]]:
    """The text of a run's log files as it is written, each piece with its file, until the run has ended."""
    directory, read = log_directory(project, run_id), dict[Path, int]()
    with read_store(project.metastore) as store:
        while True:
            ended = read_run(store, run_id).status != "running"  # asked before the last reading: nothing is left out
            for file in _files(directory, job):
                if text := _text_after(file, read.get(file, 0), whole_lines=not ended):
                    read[file] = read.get(file, 0) + len(text)
                    yield file, text.decode("utf-8", errors="replace")
            if ended:
                return
            time.sleep(LOOK_SECONDS)


def _files(directory: Path, job: str | None) -> list[Path]:
    if job is not None:
        return sorted(directory.glob(f"{job}.*.log"), key=lambda path: int(path.suffixes[-2][1:]))
    of_engines = set(directory.glob("engine-*.log"))
    return sorted(directory.glob("*.log"), key=lambda path: (path in of_engines, path.stat().st_mtime))


def _text_after(file: Path, offset: int, *, whole_lines: bool) -> bytes:
    """What a file has after so many bytes."""
    with file.open("rb") as opened:
        opened.seek(offset)
        text = opened.read()
    return text[: text.rfind(b"\n") + 1] if whole_lines else text

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import yaml

from catchment import project
from catchment.run.schedule import tick_reports
from catchment.run.schedule.tick_reports import TickReport
from tests.concurrency.schedule import program
from tests.unit.run.workflow_file import write_workflow

PATIENCE = 150.0
"""Seconds; processes start slowly on a busy machine."""


@dataclass(frozen=True)
class Running:
    """A scheduler that runs as a process."""

    process: subprocess.Popen[str]
    story: Path
    answers: Path

    @property
    def told(self) -> str:
        return self.story.read_text()

    @property
    def settled(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.answers.read_text().splitlines()]

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def ends(self) -> int:
        return self.process.wait(PATIENCE)


@dataclass(frozen=True)
class Project:
    """A project with one scheduled workflow whose jobs do what their script says."""

    root: Path
    speed: float = 1.0
    """Of the clock that its schedulers and runs go by."""

    def __post_init__(self) -> None:
        self._set_clock(time.time(), 0.0)

    @property
    def clock(self) -> Path:
        return self.root / "clock"

    def now(self) -> datetime:
        """What the clock shows."""
        program.Clock.file = self.clock
        return program.Clock.now(timezone.utc)

    def put_forward(self, seconds: float) -> None:
        """Put the clock forward: so much time has passed for schedulers and runs."""
        began, _, forward = json.loads(self.clock.read_text())
        self._set_clock(began, forward + seconds)

    def put_forward_to_the_hour(self) -> None:
        """Put the clock to the last second before a full hour."""
        now = self.now()
        hour = now.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
        self.put_forward((hour - now).total_seconds() - 1)

    def _set_clock(self, began: float, forward: float) -> None:
        new = self.root / "clock.new"
        new.write_text(json.dumps([began, self.speed, forward]))
        new.replace(self.clock)

    @property
    def file(self) -> Path:
        return self.root / "flow.yaml"

    @property
    def trace_file(self) -> Path:
        return self.root / "trace.jsonl"

    def write(self, script: str, **schedule: str) -> None:
        """Put the workflow in place at once: a scheduler reads it whenever it likes. Without arguments, no schedule."""
        draft = write_workflow(self.root / "draft", self.trace_file, {"a": (script, [])})
        text = yaml.safe_load(draft.read_text())
        if schedule:
            text["workflow"]["schedule"] = {"timezone": "UTC", **schedule}
        self.put(yaml.safe_dump(text))

    def put(self, text: str) -> None:
        """Put a file in place of the workflow at once."""
        draft = self.root / "draft.yaml"
        draft.write_text(text)
        draft.replace(self.file)

    @contextmanager
    def scheduler(self, *, fault: str = "", cancel: float = 1.0, **pace: float) -> Iterator[Running]:
        """A scheduler at work; one that a test forgets is killed at the end."""
        number = len(list(self.root.glob("*.story")))
        story, answers = self.root / f"{number}.story", self.root / f"{number}.answers"
        given = json.dumps({"lease": program.LEASE, "look": 0.1, **pace})
        env = {program.FAULT: fault, program.CANCEL: str(cancel), program.CLOCK: str(self.clock)}
        with story.open("w") as err, answers.open("w") as out:
            process = subprocess.Popen(
                [sys.executable, "-m", program.__name__, "schedule", str(self.file), given],
                env=os.environ | env,
                stdout=out,
                stderr=err,
                text=True,
            )
        try:
            yield Running(process, story, answers)
        finally:
            process.kill()
            process.wait()

    def trace(self, what: str) -> list[dict[str, Any]]:
        text = self.trace_file.read_text() if self.trace_file.exists() else ""
        return [line for line in map(json.loads, text.splitlines()) if line["what"] == what]

    def begun(self) -> list[tuple[str, str]]:
        """Every attempt of the job: its run, and the reference time that it was given."""
        return [(line["run"], line["reference_time"]) for line in self.trace("begin")]

    def processes(self, verb: str) -> list[int]:
        """The schedulers (`schedule`) or runs (`tick`) of this project that live."""
        wanted = f"{program.__name__}\0{verb}\0{self.file}\0"
        return [pid for pid in _pids() if wanted in _command(pid)]

    def kill(self, verb: str) -> None:
        """Kill all of them as a power cut would."""
        for pid in self.processes(verb):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def ticks(self) -> list[TickReport]:
        """Every tick so far, oldest first."""
        return tick_reports.newest(project.load(self.root), 1000)[::-1]


@pytest.fixture
def flow(tmp_path: Path) -> Iterator[Project]:
    yield from _cleared_away(Project(tmp_path))


@pytest.fixture
def quick(tmp_path: Path) -> Iterator[Project]:
    """The same, with a clock on which four seconds pass in one."""
    yield from _cleared_away(Project(tmp_path, speed=4.0))


def _cleared_away(made: Project) -> Iterator[Project]:
    yield made
    made.kill("schedule")
    made.kill("tick")  # runs go on without their scheduler


def wait_until(true: Callable[[], object], what: str) -> None:
    """Wait for something to become true; say what was waited for if it does not."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, f"waited in vain: {what}"
        time.sleep(0.05)


def _pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""

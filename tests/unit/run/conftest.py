from __future__ import annotations

import functools
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from catchment import run
from catchment.engine.launcher import EngineProcess
from catchment.errors import Position
from catchment.events.hub import Event
from catchment.plan.model import Dataset, EnginePlan, JobPlan, OutputPlan, Plan, StepPlan
from catchment.project.model import Engine, Project
from catchment.run.engine_pool import Launch
from catchment.spec.model import Retry

WORKER = Path(__file__).parent / "scripted_worker.py"
HERE = Position("w.yaml", 1, 1)
QUICK = run.Timing(lease=60.0, cancel=1.0, stop=2.0)

launch: Launch = functools.partial(EngineProcess.start, command=(sys.executable, "-S", str(WORKER)))


def job(name: str, script: str = "", *needs: str, engine: str = "default", retry: Retry | None = None) -> JobPlan:
    """A job that does what the script says and writes one table."""
    table = Dataset(f"dataos://lake:raw/{name}", "lake", "iceberg", "raw", name)
    return JobPlan(
        name,
        engine,
        HERE,
        depends_on=needs,
        steps=(StepPlan("s", script, HERE, HERE),),
        outputs=(OutputPlan("out", "s", table, HERE),),
        retry=retry or Retry(),
    )


@dataclass
class Recorder:
    """A sink that keeps everything."""

    events: list[Event] = field(default_factory=list)
    closed: bool = False

    def emit(self, event: Event) -> None:
        self.events.append(event)

    def close(self) -> None:
        self.closed = True

    def kinds(self, job: str | None = None) -> list[str]:
        return [event.kind for event in self.events if event.job == job and event.kind != "job-note"]

    def of(self, kind: str) -> list[Event]:
        return [event for event in self.events if event.kind == kind]


@dataclass(frozen=True)
class Lab:
    """A project directory, and a launcher that starts scripted workers in it."""

    root: Path
    project: Project

    @property
    def trace_file(self) -> Path:
        return self.root / "trace.jsonl"

    def plan(self, *jobs: JobPlan, envs: Mapping[str, str] | None = None) -> Plan:
        traced = {"TRACE": str(self.trace_file), **(envs or {})}
        keys = dict.fromkeys(job.engine for job in jobs)
        engines = tuple(EnginePlan(key, Engine(key), envs=traced) for key in keys)
        return Plan("flow", str(self.root / "w.yaml"), jobs, engines)

    def run(self, *jobs: JobPlan, envs: Mapping[str, str] | None = None, **options: Any) -> run.Run:
        options = {"launch": launch, "timing": QUICK, **options}
        return run.start(self.plan(*jobs, envs=envs), self.project, **options)

    def trace(self, what: str | None = None) -> list[dict[str, Any]]:
        text = self.trace_file.read_text() if self.trace_file.exists() else ""
        lines = [json.loads(line) for line in text.splitlines()]
        return [line for line in lines if what is None or line["what"] == what]


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    metastore = f"sqlite:///{tmp_path}/.catchment/metastore.db"
    return Lab(tmp_path, Project(tmp_path, None, metastore, {}, {"default": Engine("default")}, secrets=("hunter22",)))


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


def statuses(result: run.Run) -> dict[str, str]:
    """What each job came to."""
    return {each.name: each.status for each in result.jobs}

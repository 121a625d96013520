"""A run whose engine is killed in mid-write tries its job again on a new engine, and the rows are there once."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from catchment import run
from catchment.engine.launcher import EngineProcess, Inbox
from catchment.plan.model import Dataset, EnginePlan, Plan
from catchment.project.model import Engine, Project
from catchment.spec.model import Retry
from tests.ledgers import Filled
from tests.spark.hosts import PROCESSES, Host
from tests.spark.lake import UNPREPARED, delta_table, engine_plan, files, table, writing
from tests.spark.processes.attached import way_to

MAKE: dict[str, Callable[[str, Path], Dataset]] = {
    "iceberg": lambda name, root: table(name),
    "delta": lambda name, root: delta_table(name, root),
    "parquet": lambda name, root: files(root / "drop" / name, "parquet"),
}


@dataclass
class Launching:
    """Starts engines as guests; the first of them kills itself at a point of the commit path."""

    host: Host
    fault: str
    started: int = 0

    def __call__(self, engine: EnginePlan, *, log_dir: Path, secrets: tuple[str, ...], inbox: Inbox) -> EngineProcess:
        fault = {} if self.started else {"CATCHMENT_FAULT": self.fault}
        self.started += 1
        plan = replace(engine, envs={**engine.envs, **way_to(self.host.gateway_file), **fault})
        command = (sys.executable, str(PROCESSES / "guest.py"))
        return EngineProcess.start(plan, log_dir=log_dir, secrets=secrets, inbox=inbox, command=command)


@pytest.mark.parametrize(
    "format", ["iceberg", *(pytest.param(each, marks=pytest.mark.slow) for each in ("delta", "parquet"))]
)
@pytest.mark.slow
def test_a_job_whose_engine_is_killed_in_mid_write_is_written_once_by_the_next_engine(
    elsewhere: Host, filled: Filled, root: Path, tmp_path: Path, fresh: str, format: str
) -> None:
    target = MAKE[format](fresh, root)
    work = replace(writing("SELECT id FROM range(10)", target, mode="append"), retry=Retry(1, "OnTransientError"))
    engine = engine_plan(*elsewhere.plan.depots, conf=UNPREPARED)
    launch = Launching(elsewhere, "data-written:kill")
    project = Project(tmp_path, None, engine.metastore, {}, {"default": Engine("default")})
    done = run.start(Plan("flow", str(tmp_path / "w.yaml"), (work,), (engine,)), project, launch=launch)
    [result] = done.jobs
    assert (result.status, result.attempts, launch.started) == ("succeeded", 2, 2)
    assert filled.find(result.outputs[0].write_id).state == "committed"
    relation = f"{target.format}.`{target.path}`" if target.path else target.identifier
    assert elsewhere.rows(f"SELECT count(*), count(DISTINCT id) FROM {relation}") == [(10, 10)]

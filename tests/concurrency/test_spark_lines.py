"""Engines of two lines of Spark write one table and are killed at random; the run is resumed until it is done."""

from __future__ import annotations

import json
import os
import random
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from catchment import plan, project, run
from catchment.engine.launcher import EngineProcess, Inbox
from catchment.engine.protocol import Note, Reply
from catchment.errors import EngineLost
from catchment.plan.model import EnginePlan
from tests.cli import projects
from tests.concurrency.invariants import check, ids
from tests.spark.lake import UNPREPARED, LiveEngine, lake_depot

pytestmark = pytest.mark.slow

JOBS, ROWS = 16, 25
SETTINGS = f"""\
depots:
  dropzone: {{kind: files, location: ./dropzone}}
  lake: {{kind: iceberg, location: ./lake}}
engines:
  default: {{master: "local[2]", conf: {json.dumps(UNPREPARED)}}}
  old: {{spark: "3.5", master: "local[2]", conf: {json.dumps(UNPREPARED)}}}
"""
ROUNDS = 3
"""How many runs there may be until both lines have consolidated: who gets the lease is a matter of chance."""
RESUMES = 12


class Killer:
    """Starts engines and kills some of them in the midst of their jobs."""

    def __init__(self, seed: int, kills: int) -> None:
        self._random = random.Random(seed)
        self._left = kills
        self._notes = self._random.randint(1, 30)
        self.killed: list[str] = []

    def launch(self, engine: EnginePlan, *, log_dir: Path, secrets: tuple[str, ...], inbox: Inbox) -> EngineProcess:
        def noting(key: str, reply: Reply | EngineLost) -> None:
            if isinstance(reply, Note) and self._is_time():
                assert process._process is not None
                self.killed.append(key)
                os.killpg(process._process.pid, signal.SIGKILL)
            inbox(key, reply)

        process = EngineProcess.start(engine, log_dir=log_dir, secrets=secrets, inbox=noting)
        return process

    def _is_time(self) -> bool:
        self._notes -= 1
        if self._notes or not self._left:
            return False
        self._left -= 1
        self._notes = self._random.randint(1, 30)
        return True


def appending(number: int) -> str:
    """A job that appends ids of its own; half of the jobs run on each engine."""
    sql = f"SELECT {number * ROWS} + id AS id, {number} AS job FROM range({ROWS}), (SELECT 1 FROM trips LIMIT 1)"
    text = projects.job(f"job-{number}", sql, to="lake:raw/t")
    return text.replace("runnable-default", "old" if number % 2 else "default")


def run_to_the_end(root: Path, first: int, killer: Killer) -> None:
    """Run the sixteen jobs, and resume the run until it has succeeded."""
    file = root / f"flow-{first}.yaml"
    file.write_text(projects.workflow(f"flow-{first}", *(appending(first + number) for number in range(JOBS))))
    opened, made = plan.prepare(file, project=project.load(root)).require()
    done = run.start(made, opened, launch=killer.launch)
    for _ in range(RESUMES):
        if done.status == "succeeded":
            return
        done = run.resume(done.run_id, opened, launch=killer.launch)
    raise AssertionError(f"the run did not succeed: {done}")


def test_sixteen_jobs_on_two_lines_of_spark_whose_engines_are_killed(
    start_java: Callable[..., LiveEngine], tmp_path: Path
) -> None:
    projects.make(tmp_path, SETTINGS)
    seed = random.randrange(1_000_000)
    print(f"seed {seed}")
    killer, lines, rounds = Killer(seed, kills=4), set[Any](), 0
    metastore = f"sqlite:///{tmp_path}/.catchment/metastore.db"
    reader = start_java(lake_depot(tmp_path), metastore=metastore, conf=UNPREPARED)
    while lines != {"3.5", "4.1"} and rounds < ROUNDS:
        run_to_the_end(tmp_path, rounds * JOBS, killer)
        rounds += 1
        assert ids(reader, "t") == list(range(rounds * JOBS * ROWS))
        versions = reader.rows("SELECT DISTINCT summary['engine-version'] FROM lake.raw.t.snapshots")
        lines = {str(version)[:3] for (version,) in versions}
    assert killer.killed
    assert lines == {"3.5", "4.1"}
    check(reader, "t")

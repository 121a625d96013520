"""A scheduler for scripted workers, as a process that can be killed: `python -m … schedule FILE PACE`.

Its runs are processes of the same program (`tick FILE TIME`), told apart from Catchment's own only by their engine.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, tzinfo
from pathlib import Path
from typing import ClassVar

from catchment import run
from catchment.cli.interaction import stop_on_signal
from catchment.plan import prepare
from catchment.run.run_options import RunOptions
from catchment.run.schedule import scheduler, tick_process
from catchment.run.schedule.calendar import calendar_of
from catchment.run.schedule.scheduled_workflows import ScheduledWorkflow, read
from catchment.run.schedule.scheduler import Pace, Scheduler
from catchment.run.schedule.tick_process import run_tick
from catchment.store import open_store
from tests.unit.run.conftest import launch

LEASE = 2.0
"""Seconds until somebody who was killed is known to be dead."""
FAULT = "FAULT"
"""Where the scheduler or a run is to kill itself; an environment variable."""
CANCEL = "CANCEL"
"""How long the engine of a run may take to cancel its job; an environment variable."""
CLOCK = "CLOCK"
"""The file with the clock of the test; an environment variable."""


class Clock(datetime):
    """A moment; the present comes from a clock of the test's own, which goes faster and can be put forward."""

    file: ClassVar[Path]

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Clock:
        began, speed, forward = json.loads(cls.file.read_text())
        return cls.fromtimestamp(began + (time.time() - began) * speed + forward, tz)


def command(each: ScheduledWorkflow, tick: datetime) -> Sequence[str]:
    return (sys.executable, "-m", __spec__.name, "tick", str(each.file), tick.isoformat())


def schedule(file: Path, pace: str) -> None:
    followed = read(file)
    with stop_on_signal() as stop, open_store(followed.project.metastore) as store:
        Scheduler(
            [followed],
            store,
            _dying if os.environ.get(FAULT) == "claimed" else command,
            tell=lambda line: print(line, file=sys.stderr, flush=True),
            settled=lambda tick: print(json.dumps(asdict(tick), default=str), flush=True),
            pace=Pace(**json.loads(pace)),
        ).run(stop)


def _dying(*_: object) -> Sequence[str]:
    """The tick is claimed, the try is counted, and no process of its run was started."""
    os.kill(os.getpid(), 9)
    return ()


def tick(file: Path, time_: str) -> None:
    prepared = prepare(file)
    project, plan = prepared.require()
    assert prepared.workflow
    assert prepared.workflow.schedule
    if os.environ.get(FAULT) == "run" and Path(file).with_suffix(".dies").exists():
        os.kill(os.getpid(), 9)
    with stop_on_signal() as stop:
        timing = run.Timing(lease=LEASE, cancel=float(os.environ[CANCEL]), stop=2.0)
        options = RunOptions(None, (), stop, launch, timing)
        run_tick(datetime.fromisoformat(time_), plan, project, options, calendar_of(prepared.workflow.schedule).end)


if __name__ == "__main__":
    Clock.file = Path(os.environ[CLOCK])
    for module in (scheduler, tick_process):
        vars(module)["datetime"] = Clock
    functools.partial({"schedule": schedule, "tick": tick}[sys.argv[1]], Path(sys.argv[2]))(sys.argv[3])

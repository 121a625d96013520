"""Executes a plan: scheduling, retries, resume, cancel; and reads what became of it."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from catchment.engine.launcher import EngineProcess
from catchment.engine.protocol import Backfill
from catchment.events.model import Sink
from catchment.plan.model import Plan
from catchment.project.model import Project
from catchment.run.engines import Launch
from catchment.run.model import Run
from catchment.run.options import Options, Timing
from catchment.run.start import start_run

__all__ = ["Run", "Timing", "resume", "start"]


def start(
    plan: Plan,
    project: Project,
    *,
    as_of: str | None = None,
    jobs: int | None = None,
    sinks: Sequence[Sink] = (),
    stop: threading.Event | None = None,
    launch: Launch = EngineProcess.start,
    timing: Timing | None = None,
    windows: int = 1,
    backfill: tuple[str, str] | None = None,
    wait: bool = False,
) -> Run:
    """Run a plan to its end; setting `stop` cancels it. At most `jobs` jobs run at once.

    `as_of` is the reference time; without it, it is now. A job that goes on from where the run before it ended takes
    at most `windows` windows, or goes through the range of a `backfill`, and waits for another run of it with `wait`.
    """
    asked = Backfill(*backfill) if backfill else None
    options = Options(jobs, sinks, stop or threading.Event(), launch, timing or Timing(), windows, asked, wait)
    return start_run(plan, project, options, as_of)


def resume(
    run_id: str,
    project: Project,
    *,
    jobs: int | None = None,
    sinks: Sequence[Sink] = (),
    stop: threading.Event | None = None,
    launch: Launch = EngineProcess.start,
    timing: Timing | None = None,
) -> Run:
    """Run what did not succeed of an earlier run; raises LeaseHeld where that run is still alive."""
    from catchment.run.start import resume_run

    return resume_run(run_id, project, Options(jobs, sinks, stop or threading.Event(), launch, timing or Timing()))

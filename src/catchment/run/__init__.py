"""Executes plans: scheduling, retries, resume and cancel; reads the results of earlier runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from catchment.project.model import Project
from catchment.run.results import Run
from catchment.run.timing import Timing
from catchment.run_model import RunRequest

if TYPE_CHECKING:  # whoever only looks at runs does not load what executes them
    from catchment.events.hub import Sink
    from catchment.plan.model import Plan
    from catchment.run.engine_pool import Launch

__all__ = ["Run", "Timing", "resume", "start"]


def start(
    plan: Plan,
    project: Project,
    request: RunRequest | None = None,
    *,
    jobs: int | None = None,
    sinks: Sequence[Sink] = (),
    stop: threading.Event | None = None,
    launch: Launch | None = None,
    timing: Timing | None = None,
    run_id: str | None = None,
    notify: Sequence[str] = (),
    tell: Callable[[str], None] = lambda _: None,
) -> Run:
    """Run a plan to its end; setting `stop` cancels it. At most `jobs` jobs run at once.

    With a run id, a run that has begun under it goes on. The hooks named by `notify` are told how it ends.
    """
    from catchment.events.hub import waited_for_last
    from catchment.run.execution import start_run
    from catchment.run.notify.sending import check_hooks
    from catchment.run.run_options import RunOptions

    with waited_for_last(sinks) as readers:
        options = RunOptions(jobs, readers, stop or threading.Event(), launch, timing or Timing(), tell, tuple(notify))
        check_hooks(project, options.notify)
        if run_id is None:
            return start_run(plan, project, request or RunRequest(), options)
        from catchment.run.chosen_id import start_or_resume

        return start_or_resume(run_id, plan, project, request or RunRequest(), options)


def resume(
    run_id: str,
    project: Project,
    *,
    jobs: int | None = None,
    sinks: Sequence[Sink] = (),
    stop: threading.Event | None = None,
    launch: Launch | None = None,
    timing: Timing | None = None,
    notify: Sequence[str] = (),
    tell: Callable[[str], None] = lambda _: None,
) -> Run:
    """Run what did not succeed in an earlier run; raises LeaseHeld if that run is still alive.

    A run whose process has died on this machine is taken over at once; on another, when its lease has ended.
    """
    from catchment.events.hub import waited_for_last
    from catchment.run.execution import resume_run
    from catchment.run.notify.sending import check_hooks
    from catchment.run.run_options import RunOptions

    with waited_for_last(sinks) as readers:
        options = RunOptions(jobs, readers, stop or threading.Event(), launch, timing or Timing(), tell, tuple(notify))
        check_hooks(project, options.notify)
        return resume_run(run_id, project, options)

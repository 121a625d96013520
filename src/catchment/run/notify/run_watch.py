"""Tells hooks about one run: when it takes too long, when it fails, and when somebody wants to hear of its end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from types import TracebackType

from catchment.errors import Cancelled, CatchmentError, LeaseHeld, LeaseLost, RequestError
from catchment.project.model import Hook, Project
from catchment.run.notify.message import about_beginning, about_run
from catchment.run.notify.sending import Notifier
from catchment.run.results import Run


@contextmanager
def beginning(
    project: Project, run_id: str, workflow: str | None, named: tuple[str, ...]
) -> Iterator[Callable[[], None]]:
    """Tells hooks if a run ends before somebody watches it, which is said by calling what this yields.

    What was asked for wrongly is told to whoever asked, and to nobody else.
    """
    watched = threading.Event()
    try:
        yield watched.set
    except CatchmentError as error:
        if not watched.is_set() and not isinstance(error, LeaseHeld | RequestError | Cancelled):
            notifier = Notifier.of(project)
            hooks = dict.fromkeys((*notifier.on("run-failed"), *notifier.named(named)))
            notifier.send(about_beginning(run_id, workflow, error, project), [*hooks])
        raise


class RunWatch:
    """Watches one run, from `with` to its end."""

    def __init__(
        self,
        project: Project,
        result: Callable[[], Run],
        *,
        named: tuple[str, ...] = (),
        due: datetime | None = None,
    ) -> None:
        """`named` hooks hear of the end, however it comes. A run is late by the time since it was `due`, or began."""
        self._project, self._result = project, result
        self._notifier = Notifier.of(project)
        self._named = self._notifier.named(named)
        self._due = due
        self._timers: list[threading.Timer] = []

    def __enter__(self) -> RunWatch:
        for hook in self._notifier.on("run-late"):
            timer = threading.Timer(self._left(hook.late_after or 0.0), self._late, [hook])
            timer.daemon = True
            timer.start()
            self._timers.append(timer)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for timer in self._timers:
            timer.cancel()

    def ended(self) -> None:
        """The run has come to its end."""
        run = self._result()
        failed = self._notifier.on("run-failed") if run.status == "failed" else ()
        if failed:
            self._notifier.send(about_run("run-failed", run, self._project), failed)
        others = [hook for hook in self._named if hook not in failed]
        if others:
            self._notifier.send(about_run("run-finished", run, self._project), others)

    def broke_off(self, error: CatchmentError) -> None:
        """The run ends without a result, unless somebody else has taken it over."""
        if not isinstance(error, LeaseLost):
            run = self._result()
            text = f"run {run.run_id} of {run.workflow} broke off: {error.message}"
            hooks = dict.fromkeys((*self._notifier.on("run-failed"), *self._named))
            self._notifier.send(about_run("run-failed", run, self._project, text), [*hooks])

    def _left(self, allowed: float) -> float:
        since = (datetime.now(timezone.utc) - self._due).total_seconds() if self._due else 0.0
        return max(allowed - since, 0.0)

    def _late(self, hook: Hook) -> None:
        run, allowed = self._result(), hook.late_after or 0.0
        text = f"run {run.run_id} of {run.workflow} is late: it has not ended {allowed:.0f} s after it was due"
        self._notifier.send(about_run("run-late", run, self._project, text), [hook])

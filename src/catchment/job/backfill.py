"""Backfills: runs a job over a range in windows, several at a time, without changing its incremental state.

Windows are computed in parallel but sealed in order, so the result is the same as if they had run one after the other.
The list of windows is stored first, so that an interrupted backfill continues with the windows that are not done.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial

from pyspark.sql import SparkSession

from catchment.commit.writer import Writer
from catchment.engine.protocol import RunJob
from catchment.errors import Cancelled, JobError
from catchment.formats.registry import traits_of
from catchment.formats.sql_names import may_name
from catchment.job.inputs import reading
from catchment.job.lease import job_lease
from catchment.job.reports import added_up
from catchment.job.story import Story
from catchment.job.windows import check_fits, described, is_before, window_with
from catchment.plan.model import Incremental, InputPlan, JobPlan
from catchment.run_model import Backfill, JobReport
from catchment.store import Lease
from catchment.store.states import InputWindow, States, Window

AT_ONCE = 4
MAX_WINDOWS = 10_000
POLL_SECONDS = 0.2

RunWindow = Callable[[Window, Story], JobReport]
Sessions = Callable[[], AbstractContextManager[SparkSession]]


@dataclass(frozen=True)
class Backfiller:
    """Runs the backfill of one job."""

    sessions: Sessions
    command: RunJob
    story: Story
    writer: Writer
    run_window: RunWindow

    def run(self, wanted: Backfill) -> JobReport:
        """Run all windows of the range that are not done yet."""
        source, window = _only_window(self.command.job)
        with job_lease(self.writer, self.command, self.story) as lease:
            windows = self._unfinished(lease, window, wanted) or self._listed_before(window)
            windows = windows or self._list_windows(lease, source, window, wanted)
            return added_up(self._run_all(lease, windows))

    def _listed_before(self, window: Incremental) -> tuple[Window, ...]:
        """The windows that this run listed in an earlier attempt; what is committed is not written again."""
        own = self._states.of_run(*self._job, self.command.run_id, "backfill")
        if any(each.status == "dropped" for each in own):
            raise JobError(
                "windows of the backfill of this run were dropped",
                code="window-dropped",
                where=window.where,
                hint="start again with `catchment run --backfill`; `catchment state show` lists finished windows",
            )
        return own

    def _unfinished(self, lease: Lease, window: Incremental, wanted: Backfill) -> tuple[Window, ...]:
        """The windows that an earlier backfill of the same range has not finished."""
        left = self._states.unfinished(*self._job, "backfill")
        ranges = {each.backfill.range for each in left if each.backfill}
        if ranges - {wanted.range}:
            raise JobError(
                f"the backfill {', '.join(sorted(ranges))} of this job is not finished: {len(left)} windows are left",
                code="backfill-unfinished",
                where=window.where,
                hint="finish it with the same --backfill, or drop it with `catchment state set` or `state reset`",
            )
        if not left:
            return ()
        with self.sessions() as session:
            for each in left:
                check_fits(session, self.command.job, each)
        self.story.warn(f"the backfill {wanted.range} continues: {len(left)} of its windows are left")
        # Recorded for this run; otherwise the run would start the range again when it is resumed.
        return self._states.take_over(lease, left, self.command.run_id)

    def _list_windows(
        self, lease: Lease, source: InputPlan, window: Incremental, wanted: Backfill
    ) -> tuple[Window, ...]:
        with self.sessions() as session, reading(source):
            parts = list(_parts(session, source, window, wanted))
        run_id, outputs = self.command.run_id, dict(self.command.job.reported)
        template = Window(
            *(*self._job, 0, "backfill", "open", run_id, {}), runs=(run_id,), backfill=wanted, outputs=outputs
        )
        windows = [
            replace(template, identity=f"{run_id}.b{number}", inputs={source.name: part})
            for number, part in enumerate(parts, 1)
        ]
        return self._states.open(lease, windows)

    def _run_all(self, lease: Lease, windows: Sequence[Window]) -> list[JobReport]:
        """Run a few windows at a time in threads; each one seals after its predecessor is done."""
        done = [threading.Event() for _ in windows]
        failed: list[int] = []
        at_once = windows_at_once(self.command.job, self.writer.single_writer)

        def wait_to_seal(number: int) -> None:
            while number and not done[number - 1].wait(POLL_SECONDS):
                self.story.check()
                if any(each < number for each in failed):
                    raise Cancelled("a window before this one failed")

        def run_one(number: int, window: Window) -> JobReport:
            try:
                if at_once == 1 or failed:
                    wait_to_seal(number)
                self.story.check()
                reports = self._run_window(window, partial(wait_to_seal, number))
                self._states.finish(lease, window)
            except BaseException:
                failed.append(number)
                raise
            done[number].set()
            return reports

        with ThreadPoolExecutor(at_once, "window") as threads:
            futures = [threads.submit(run_one, number, window) for number, window in enumerate(windows)]
        _raise_first([error for future in futures if (error := future.exception())])
        return [future.result() for future in futures]

    def _run_window(self, window: Window, wait_to_seal: Callable[[], None]) -> JobReport:
        for name, part in window.inputs.items():
            self.story.tell("window", f"input {name}: {described(part)}", name=name, values=dict(part.values))
        return self.run_window(window, self.story.sealing_after(wait_to_seal))

    @property
    def _states(self) -> States:
        return self.writer.store.states

    @property
    def _job(self) -> tuple[str, str]:
        return self.command.workflow, self.command.job.name


def windows_at_once(job: JobPlan, single_writer: Collection[str]) -> int:
    """How many windows may run at once: only one if a window may depend on what an earlier one has written."""
    read = {source.dataset.address for source in job.inputs}
    statements = list(_statements(job))
    independent = not job.actions and all(
        traits_of(output.dataset.format).buffered
        and output.commit == "buffered"
        and output.mode != "merge"
        and output.conflict == "last-wins"
        and output.dataset.address not in read
        and output.dataset.depot not in single_writer
        and not any(may_name(sql, output.dataset) for sql in statements)
        for output in job.outputs
    )
    return AT_ONCE if independent else 1


def _statements(job: JobPlan) -> Iterator[str]:
    """All SQL that a window runs."""
    yield from (step.sql for step in job.steps)
    for window in (source.incremental for source in job.inputs if source.incremental):
        yield window.window.filled({key.name: "0" for key in window.keys})


def _raise_first(errors: Sequence[BaseException]) -> None:
    """Raise the error that caused the others, which are only cancellations."""
    reasons = [error for error in errors if not isinstance(error, Cancelled)] or list(errors)
    if reasons:
        raise reasons[0]


def _only_window(job: JobPlan) -> tuple[InputPlan, Incremental]:
    moving = [source for source in job.inputs if source.moves]
    window = moving[0].incremental if len(moving) == 1 else None
    if window is None or len(window.state) != 1:
        raise JobError(
            f"job {job.name} cannot be backfilled: it needs one input with a window over a column, and one entry "
            "in its `state`",
            code="unsupported-backfill",
            where=job.where,
            hint="set the state with `catchment state set` and run it in windows instead",
        )
    return moving[0], window


def _parts(spark: SparkSession, source: InputPlan, window: Incremental, wanted: Backfill) -> Iterator[InputWindow]:
    """The windows of a range, in order; the last one ends where the range ends."""
    ((start, end),) = window.state.items()
    at = wanted.first
    if not is_before(at, wanted.last):
        raise _not_moving(window, wanted, at, wanted.last)
    for _ in range(MAX_WINDOWS):
        part = window_with(spark, source, window, {start: at})
        after = part.values[end]
        if not is_before(at, after) and any(key.live for key in window.keys if key.name == end):
            return  # the data or the clock has not reached this point yet
        if not is_before(at, after):
            raise _not_moving(window, wanted, at, after)
        if not is_before(after, wanted.last):
            # Keys that depend on the end are computed from the end of the range.
            yield replace(window_with(spark, source, window, {start: at, end: wanted.last}), after={})
            return
        yield replace(part, after={})
        at = after
    raise JobError(
        f"the backfill {wanted.range} has more than {MAX_WINDOWS:,} windows",
        code="backfill-too-long",
        where=window.where,
        hint="backfill it in several ranges, or with longer windows",
    )


def _not_moving(window: Incremental, wanted: Backfill, at: str, after: str) -> JobError:
    return JobError(
        f"the backfill {wanted.range} does not advance: its window goes from {at} to {after}",
        code="window-does-not-move",
        where=window.where,
        hint="a range needs increasing numbers, dates or timestamps",
    )

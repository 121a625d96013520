"""Incremental jobs: an open window is finished first, and a new window is stored before it is read.

The state moves only when all outputs of a window are committed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from pyspark.sql import SparkSession

from catchment.commit import faults
from catchment.commit.publisher import BEHIND
from catchment.commit.writer import Writer
from catchment.engine.protocol import RunJob
from catchment.errors import CatchmentError
from catchment.job.inputs import next_window
from catchment.job.lease import job_lease
from catchment.job.lost_windows import lost_window
from catchment.job.reports import added_up
from catchment.job.story import Story
from catchment.job.windows import check_fits, described, ends_after
from catchment.plan.model import InputPlan
from catchment.run_model import JobReport
from catchment.store import Lease
from catchment.store.states import InputWindow, State, States, Window
from catchment.store.writes import FATE_UNKNOWN, Entry


@dataclass(frozen=True)
class WindowLoop:
    """Runs the windows of one attempt of a job, one after the other."""

    spark: SparkSession
    command: RunJob
    story: Story
    writer: Writer
    run_window: Callable[[Window], JobReport]
    """Runs the job for a window until all outputs are committed; what is committed is not written again."""
    is_committed: Callable[[Window], bool]
    """Whether every output of a window is committed."""

    def run(self) -> JobReport:
        """Run as many windows as requested, or as there are; windows that this run finished earlier count."""
        reports: list[JobReport] = []
        with job_lease(self.writer, self.command, self.story) as lease:
            self._catch_up(lease)
            done = [window for window in self._own() if window.status == "done"]
            while len(done) + len(reports) < self.command.request.windows:
                window = self._open_window(lease) or self._open_next(lease)
                if window is None:
                    break
                reports.append(self._run_to_end(lease, window))
            if done and not reports:
                reports.append(self.run_window(done[-1]))  # the run died after its last window: report that one
        return added_up(reports)

    def _catch_up(self, lease: Lease) -> None:
        """Reopen the newest window that the metastore has lost; it is then finished like any other open window."""
        if (lost := lost_window(self.spark, self.command, self.writer)) is not None:
            text = f"window {lost.number} ({lost.opened_by}) is in the table, and the metastore has lost it"
            self.story.warn(f"{text}, as after a failover or a restored backup; it is finished first", code=BEHIND)
            self._states.reopen(lease, lost)

    def _open_window(self, lease: Lease) -> Window | None:
        """The open window of a dead attempt, to be finished; if it is committed already, only the state moves."""
        for window in self._states.unfinished(*self._job, "run"):
            own = self.command.run_id in window.runs
            if own or not self.is_committed(window):
                check_fits(self.spark, self.command.job, window)
                return window
            self.story.warn(f"window {window.number} was committed by a run that died; the state moves past it")
            self._finish(lease, window)
        return None

    def _open_next(self, lease: Lease) -> Window | None:
        states = self._states.of_job(*self._job)
        parts = {source.name: next_window(self.spark, source, states.get(source.name)) for source in self._sources}
        if all(part.after is None for part in parts.values()):
            self._report_nothing_new(states)
            return None
        self._report_windows(parts)
        run_id, taken = self.command.run_id, len(self._own())
        # An identity is never used again, not even that of a dropped window.
        identity = f"{run_id}.{taken + 1}" if taken else run_id
        window = Window(
            *(*self._job, 0, "run", "open", identity, parts),
            runs=(run_id,),
            engine=self.writer.owner,
            outputs=dict(self.command.job.reported),
        )
        (opened,) = self._states.open(lease, [window])
        faults.point("window-opened")
        return opened

    def _run_to_end(self, lease: Lease, window: Window) -> JobReport:
        try:
            reports = self.run_window(window)
        except BaseException:
            with suppress(CatchmentError):  # otherwise the window stays open, and the next run finishes it
                if (window.runs, window.engine) == ((self.command.run_id,), self.writer.owner):
                    self._drop_unwritten(lease, window)
            raise
        if window.status == "open":
            self._finish(lease, window)
        return reports

    def _finish(self, lease: Lease, window: Window) -> None:
        faults.point("before-state-moved")
        self._states.finish(lease, window)
        faults.point("state-moved")

    def _drop_unwritten(self, lease: Lease, window: Window) -> None:
        """Drop a window that has written nothing, so that the next run opens a new one.

        Only if this engine has opened the window: the engine that opened one we took over may still seal its writes.
        """
        outputs = self.command.job.writes
        ids = [f"{window.identity}/{self.command.job.name}/{output.name}" for output in outputs]
        direct = any(output.commit == "direct" for output in outputs)  # direct commits are not in the ledger
        if not direct and not any(_may_be_committed(self.writer.ledger.find(write_id)) for write_id in ids):
            self._states.give_up(lease, window)

    def _own(self) -> tuple[Window, ...]:
        return self._states.of_run(*self._job, self.command.run_id)

    def _report_windows(self, parts: Mapping[str, InputWindow]) -> None:
        for name, part in parts.items():
            self.story.tell("window", f"input {name}: {described(part)}", name=name, values=dict(part.values))
            end = ends_after(part, self.command.request.reference_time)
            if end is not None:
                text = f"input {name}: the window ends at {end}, which is in the future; rows that arrive in it later "
                self.story.warn(f"{text}will not be read", code="window-still-open", input=name, end=end)

    def _report_nothing_new(self, states: Mapping[str, State]) -> None:
        at = "; ".join(f"{name}: {_listed(state.keys)}" for name, state in states.items())
        self.story.tell("nothing-new", f"nothing new{f' since {at}' if at else ''}", since=at)

    @property
    def _sources(self) -> list[InputPlan]:
        return [source for source in self.command.job.inputs if source.moves]

    @property
    def _states(self) -> States:
        return self.writer.store.states

    @property
    def _job(self) -> tuple[str, str]:
        return self.command.workflow, self.command.job.name


def _may_be_committed(write: Entry | None) -> bool:
    """Whether a write is committed, or may still be. Only the attempt that opened a buffer may use it."""
    if write is None:
        return False
    if write.state == "abandoned":
        return (write.error or {}).get("code") == FATE_UNKNOWN
    return write.state != "open" or not write.intent.buffered


def _listed(keys: Mapping[str, str]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in keys.items())

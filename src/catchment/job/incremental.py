"""Incremental jobs: what was begun is finished first, and the next window is written down before it is read.

The state moves when everything that comes of a window is committed, and never otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from pyspark.sql import SparkSession

from catchment.commit import faults
from catchment.commit.writer import Writer
from catchment.engine.protocol import RunJob
from catchment.errors import CatchmentError
from catchment.job.inputs import next_window
from catchment.job.lease import job_lease
from catchment.job.reports import added_up
from catchment.job.story import Story
from catchment.job.windows import check_fits, described, ends_after
from catchment.plan.model import InputPlan
from catchment.run_model import OutputResult
from catchment.store import Lease
from catchment.store.states import InputWindow, State, States, Window
from catchment.store.writes import FATE_UNKNOWN, Entry


@dataclass(frozen=True)
class WindowLoop:
    """The windows of one attempt of a job, one after the other."""

    spark: SparkSession
    command: RunJob
    story: Story
    writer: Writer
    through: Callable[[Window], tuple[OutputResult, ...]]
    """Runs the job through a window, to the commit of its last output; what is committed is not written again."""
    is_committed: Callable[[Window], bool]
    """Whether every output of a window is in its table."""

    def run(self) -> tuple[OutputResult, ...]:
        """Take as many windows as were asked for, or as there are; those that this very run has done before count."""
        reports: list[tuple[OutputResult, ...]] = []
        with job_lease(self.writer, self.command, self.story) as lease:
            done = [window for window in self._own() if window.status == "done"]
            while len(done) + len(reports) < self.command.request.windows:
                window = self._settled(lease) or self._opened(lease)
                if window is None:
                    break
                reports.append(self._finished(lease, window))
            if done and not reports:
                reports.append(self.through(done[-1]))  # it had taken its last turn before it died
        return added_up(reports)

    def _settled(self, lease: Lease) -> Window | None:
        """What an attempt that died has left: moved on where all of it is committed, otherwise to be finished."""
        for window in self._states.unfinished(*self._job, "run"):
            own = self.command.run_id in window.runs
            if own or not self.is_committed(window):
                check_fits(self.spark, self.command.job, window)
                return window
            self.story.warn(f"window {window.number} was committed by a run that died; the state moves on from there")
            self._finish(lease, window)
        return None

    def _opened(self, lease: Lease) -> Window | None:
        states = self._states.of_job(*self._job)
        parts = {source.name: next_window(self.spark, source, states.get(source.name)) for source in self._sources}
        if all(part.after is None for part in parts.values()):
            self._tell_nothing_new(states)
            return None
        self._tell(parts)
        run_id, taken = self.command.run_id, len(self._own())
        # An identity is never used again, not even that of a window that came to nothing.
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

    def _finished(self, lease: Lease, window: Window) -> tuple[OutputResult, ...]:
        try:
            reports = self.through(window)
        except BaseException:
            with suppress(CatchmentError):  # then it stays open, and the next run looks after it
                if (window.runs, window.engine) == ((self.command.run_id,), self.writer.owner):
                    self._give_up_unwritten(lease, window)
            raise
        if window.status == "open":
            self._finish(lease, window)
        return reports

    def _finish(self, lease: Lease, window: Window) -> None:
        faults.point("before-state-moved")
        self._states.finish(lease, window)
        faults.point("state-moved")

    def _give_up_unwritten(self, lease: Lease, window: Window) -> None:
        """Of a window that came to nothing, nothing is left for the next run: it looks anew.

        Only of one that this engine has opened itself: whoever opened one that was taken over may still seal it.
        """
        outputs = self.command.job.writes
        ids = [f"{window.identity}/{self.command.job.name}/{output.name}" for output in outputs]
        direct = any(output.commit == "direct" for output in outputs)  # of those the ledger knows nothing
        if not direct and not any(_may_come(self.writer.ledger.find(write_id)) for write_id in ids):
            self._states.give_up(lease, window)

    def _own(self) -> tuple[Window, ...]:
        return self._states.of_run(*self._job, self.command.run_id)

    def _tell(self, parts: Mapping[str, InputWindow]) -> None:
        for name, part in parts.items():
            self.story.tell("window", f"input {name}: {described(part)}", name=name, values=dict(part.values))
            end = ends_after(part, self.command.request.reference_time)
            if end is not None:
                text = f"input {name}: the window ends at {end}, which is still to come; rows that arrive in it later "
                self.story.warn(f"{text}will not be read", code="window-still-open", input=name, end=end)

    def _tell_nothing_new(self, states: Mapping[str, State]) -> None:
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


def _may_come(write: Entry | None) -> bool:
    """Whether a write is in its table, or may still come there. Only the attempt that opened a buffer may use it."""
    if write is None:
        return False
    if write.state == "abandoned":
        return (write.error or {}).get("code") == FATE_UNKNOWN
    return write.state != "open" or not write.intent.buffered


def _listed(keys: Mapping[str, str]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in keys.items())

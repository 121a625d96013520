"""Incremental jobs that read a table commit by commit: where in its history each of them goes on."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from catchment.store.states import FIRST, LAST, SNAPSHOT, States


@dataclass(frozen=True)
class Follower:
    """An input of a job, and the snapshot from which its next window is read."""

    workflow: str
    job: str
    input: str
    snapshot: int
    since: float
    """Seconds since 1970."""

    def __str__(self) -> str:
        where = f"job {self.job} of workflow {self.workflow} is at snapshot {self.snapshot} since {self._moment()}"
        return f"{where} (`catchment state reset {self.workflow} {self.job}` lets go of it)"

    def facts(self) -> dict[str, Any]:
        """For people."""
        named = {"workflow": self.workflow, "job": self.job, "input": self.input}
        return {**named, "snapshot_id": self.snapshot, "since": self._moment()}

    def _moment(self) -> str:
        return datetime.fromtimestamp(self.since, tz=timezone.utc).isoformat(timespec="seconds")


def followers(states: States, history: Collection[int]) -> tuple[Follower, ...]:
    """Those whose next window begins at a snapshot of this history.

    Ids of snapshots are drawn at random, so the id alone tells the table, also where that was renamed.
    """
    known = {str(snapshot): snapshot for snapshot in history}
    found = {
        (follower.workflow, follower.job, follower.input, follower.snapshot): follower
        for follower in (*_begun(states, known), *_standing(states, known))
    }
    return tuple(found.values())


def _standing(states: States, known: dict[str, int]) -> Iterator[Follower]:
    for state in states.all():
        snapshot = known.get(state.keys.get(SNAPSHOT, ""))
        if snapshot is not None:
            yield Follower(state.workflow, state.job, state.input, snapshot, state.changed)


def _begun(states: States, known: dict[str, int]) -> Iterator[Follower]:
    """Whoever finishes a window reads it as it was begun."""
    for window in states.begun():
        for name, part in window.inputs.items():
            snapshot = known.get(part.values.get(FIRST) or part.values.get(LAST, ""))
            if snapshot is not None:
                yield Follower(window.workflow, window.job, name, snapshot, window.opened)

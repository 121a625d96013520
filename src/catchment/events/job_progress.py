"""The progress of a job, from what its engine reports about Spark's stages, and the time left in a stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

ENOUGH_TASKS = 4
ENOUGH_SECONDS = 5.0
"""An estimate needs at least `ENOUGH_TASKS` finished tasks of a stage, and this many seconds of it."""


@dataclass(frozen=True)
class StageProgress:
    """The progress of the stages of a job that Spark runs now."""

    done: int
    """Finished tasks."""
    total: int
    stages: tuple[int, ...] = ()
    stages_done: int = 0
    stages_total: int = 0
    rows: int = 0
    """Rows that its tasks have written."""
    bytes: int = 0
    began: datetime | None = None
    """When the first report about these stages arrived."""
    done_then: int = 0
    """How many tasks were finished then."""

    def seconds_left(self, now: datetime) -> float | None:
        """How much longer the running stages may take, by the pace of their tasks; None if too little is known.

        The stages to come are unknown, so there is no estimate for the job as a whole.
        """
        if self.began is None:
            return None
        since, done = (now - self.began).total_seconds(), self.done - self.done_then
        if done < ENOUGH_TASKS or since < ENOUGH_SECONDS:
            return None
        return since * (self.total - self.done) / done

    def words(self) -> str:
        """The progress in words, without an estimate."""
        stage = f"stage {min(self.stages_done + 1, self.stages_total)}/{self.stages_total}" if self.stages_total else ""
        parts = [stage, f"{self.done}/{self.total} tasks", written(self.rows, self.bytes)]
        return ", ".join(part for part in parts if part)


def progressed(before: StageProgress | None, data: Mapping[str, Any], at: datetime) -> StageProgress:
    """The progress after a report; the pace is measured from the start again when the stages change."""
    stages: Sequence[int] = data.get("stages", ())
    numbers = {key: int(data.get(key, 0)) for key in ("done", "total", "stages_done", "stages_total", "rows", "bytes")}
    same = before is not None and before.stages == tuple(stages)
    began, then = (before.began, before.done_then) if same and before else (at, numbers["done"])
    return StageProgress(stages=tuple(stages), began=began, done_then=then, **numbers)


def written(rows: int, size: int) -> str:
    """How much was written so far, in words; empty if nothing was."""
    parts = [f"{rows:,} rows"] if rows else []
    parts += [_size(size)] if size else []
    return f"{' and '.join(parts)} written" if parts else ""


def _size(size: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"

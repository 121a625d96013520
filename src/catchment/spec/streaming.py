"""How a streaming job runs, in the canonical workflow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from catchment.errors import Position

Trigger = Literal["back-to-back", "processing-time", "available-now"]
"""When batches run: one right after the other, at an interval, or until all data that is available now is read."""
OutputMode = Literal["append", "complete", "update"]
"""Which rows a batch has: new ones, the whole result, or the rows of the result that have changed."""


@dataclass(frozen=True)
class Streaming:
    """The settings of a streaming job."""

    where: Position
    trigger: Trigger = "back-to-back"
    interval: float | None = None
    """Seconds between the beginnings of two batches; given if and only if the trigger is processing-time."""
    output_mode: OutputMode = "append"
    mode_where: Position | None = None
    checkpoint: str | None = None
    """Address or path of the checkpoint as written; None for the default."""
    checkpoint_where: Position | None = None

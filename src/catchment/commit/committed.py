"""A committed write, as plain data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Committed:
    """A write as the format's log records it."""

    snapshot_id: int | None
    rows: int
    bytes: int
    files: int

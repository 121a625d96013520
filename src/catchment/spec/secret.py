"""A secret of a file, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from catchment.errors import Position


@dataclass(frozen=True)
class Secret:
    """A value that must not be shown, and the reference that stands for it."""

    value: str
    reference: str
    where: Position

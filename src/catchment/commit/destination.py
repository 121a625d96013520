"""Where sealed writes go: a table, or a directory of files. Lease, ledger and turns are the same for both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from catchment.commit.model import Write
from catchment.errors import CatchmentError

Check = Callable[[], None]
"""Raises `LeaseLost` where somebody else took the lease."""


@dataclass
class Outcome:
    """What became of a batch."""

    committed: dict[str, int | None] = field(default_factory=dict)
    """Write id -> snapshot; None where there was nothing to commit, or where there are no snapshots."""
    refused: dict[str, CatchmentError] = field(default_factory=dict)
    sent: bool = False
    """Whether a swap was sent on the way here."""
    unsure: bool = False
    """Whether one of them was sent and nobody knows what became of it."""

    def left(self, batch: Sequence[Write]) -> list[Write]:
        """The writes whose fate is not known yet."""
        left = [w for w in batch if w.write_id not in self.committed and w.write_id not in self.refused]
        return [replace(write, tried=True) for write in left] if self.unsure else left


class Destination(Protocol):
    """What publishes the sealed writes of one target, for whoever holds its lease."""

    @property
    def batch(self) -> int:
        """How many writes it takes at once."""
        ...

    def consolidate(self, batch: Sequence[Write], check: Check) -> Outcome:
        """Publish sealed writes in their order; raises `WritesMoved` where somebody else has been at them."""
        ...

    def tidy(self, buffers: Sequence[str]) -> tuple[str, ...]:
        """Remove those buffers of abandoned writes that can be removed without a look at anything else; says which."""
        ...

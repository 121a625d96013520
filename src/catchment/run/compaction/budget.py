"""How much a compaction may rewrite in an hour."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

HOUR_SECONDS = 3600.0


@dataclass
class Budget:
    """Counts the bytes that were rewritten in the last hour."""

    bytes_per_hour: int | None = None
    """None if there is no limit."""
    spent: deque[tuple[float, int]] = field(default_factory=deque)
    """When how much was rewritten."""

    def spend(self, size: int, now: float) -> None:
        """Count what was just rewritten."""
        if self.bytes_per_hour is not None:
            self._forget(now)
            self.spent.append((now, size))

    def is_spent(self, now: float) -> bool:
        """Whether nothing more may be rewritten at this moment."""
        self._forget(now)
        return self.bytes_per_hour is not None and sum(size for _, size in self.spent) >= self.bytes_per_hour

    def _forget(self, now: float) -> None:
        while self.spent and self.spent[0][0] <= now - HOUR_SECONDS:
            self.spent.popleft()

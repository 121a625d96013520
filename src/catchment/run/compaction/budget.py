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
    _spent: deque[tuple[float, int]] = field(default_factory=deque)

    def spend(self, size: int, now: float) -> None:
        """Count what was just rewritten."""
        self._spent.append((now, size))

    def is_spent(self, now: float) -> bool:
        """Whether nothing more may be rewritten at this moment."""
        if self.bytes_per_hour is None:
            return False
        while self._spent and self._spent[0][0] <= now - HOUR_SECONDS:
            self._spent.popleft()
        return sum(size for _, size in self._spent) >= self.bytes_per_hour

"""What a compaction has failed at, and when each of it is tried again."""

from __future__ import annotations

from dataclasses import dataclass, field

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 10.0, 3600.0


@dataclass
class Postponed:
    """What failed the last time, by name: partitions, or tasks for a whole table."""

    _failures: dict[str, int] = field(default_factory=dict)
    """How often each of them has failed in a row."""
    _again: dict[str, float] = field(default_factory=dict)
    """The moment before which it is not tried again."""

    def failed(self, name: str, now: float) -> None:
        """Postpone something; the pause doubles with each failure."""
        before = self._failures.get(name, 0)
        self._failures[name] = before + 1
        self._again[name] = now + min(FIRST_PAUSE_SECONDS * 2.0 ** min(before, 30), LONGEST_PAUSE_SECONDS)

    def succeeded(self, name: str) -> None:
        """Forget that something has failed."""
        self._failures.pop(name, None)
        self._again.pop(name, None)

    def is_due(self, name: str, now: float) -> bool:
        """Whether something may be tried now."""
        return now >= self._again.get(name, now)

    def __contains__(self, name: str) -> bool:
        return name in self._failures

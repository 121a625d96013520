"""When a command that has ended is started again, and after which pause."""

from __future__ import annotations

from dataclasses import dataclass, field

from catchment.store.services import RestartPolicy

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
"""Seconds; the pause doubles with each quick failure up to this."""
STEADY_SECONDS = 300.0
"""A command that fails after it has run for so long has not failed quickly: the next pause is the first one again."""
MOST_QUICK_FAILURES = 10
"""After so many quick failures in a row a service gives up."""
FINAL_CODES = frozenset({0, 2, 130})
"""Exit codes after which nothing is started again: it is done, the request is wrong, or a person has interrupted it."""


@dataclass
class Restarts:
    """Counts the quick failures of one service."""

    policy: RestartPolicy
    quick: int = field(default=0, init=False)

    @property
    def exhausted(self) -> bool:
        """Whether the command has failed quickly so often that the service gives up."""
        return self.quick >= MOST_QUICK_FAILURES

    def pause(self, exit_code: int, seconds: float) -> float | None:
        """Seconds until the command is started again, after it ran for `seconds` and failed; None if it is not."""
        if self.policy == "never" or exit_code in FINAL_CODES:
            return None
        self.quick = 1 if seconds >= STEADY_SECONDS else self.quick + 1
        return None if self.exhausted else min(FIRST_PAUSE * 2 ** (self.quick - 1), LONGEST_PAUSE)

"""How a run is executed: the choices of the caller and their defaults."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from catchment.errors import RequestError
from catchment.events.hub import Sink
from catchment.run.engine_pool import Launch
from catchment.run.timing import Timing

MOST_JOBS = 8
"""How many jobs run at once by default."""


@dataclass(frozen=True)
class RunOptions:
    """How the caller wants a run to be executed. What the run is asked for is in its `RunRequest`."""

    jobs: int | None = None
    sinks: Sequence[Sink] = ()
    stop: threading.Event = field(default_factory=threading.Event)
    launch: Launch | None = None
    """Starts engines; None for new processes."""
    timing: Timing = field(default_factory=Timing)
    tell: Callable[[str], None] = lambda _: None
    """Hears what happens before the run has events."""
    notify: tuple[str, ...] = ()
    """Hooks that are told how the run ends, however it does."""
    due: datetime | None = None
    """When the run should have begun, if that was not now."""

    @property
    def limit(self) -> int:
        """How many jobs may run at once."""
        return MOST_JOBS if self.jobs is None else self.jobs

    def __post_init__(self) -> None:
        if self.limit < 1:
            raise RequestError(
                f"a run cannot have {self.limit} jobs at a time", code="bad-jobs", hint="give a number from 1 up"
            )

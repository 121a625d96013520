"""Trying again where others committed first."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

MOST_ATTEMPTS = 20
"""Each of them does the work again."""
SHORTEST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.05, 2.0


def attempts() -> Iterator[int]:
    """As many attempts as conflicts are worth, with growing pauses that keep rivals apart."""
    pause = SHORTEST_PAUSE_SECONDS
    for number in range(1, MOST_ATTEMPTS + 1):
        yield number
        time.sleep(random.uniform(0.3, 1.0) * pause)  # noqa: S311 - spreads rivals, guards nothing
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

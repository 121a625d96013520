"""Trying again: how often or for how long, and with which pauses between the attempts."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress

MOST_ATTEMPTS = 20
"""Where each of them does the work again."""
SHORTEST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.05, 2.0


class _Again(Exception):
    """The attempt is over, and its maker wants another one."""


def attempts(
    most: int | None = MOST_ATTEMPTS,
    *,
    seconds: float | None = None,
    shortest: float = SHORTEST_PAUSE_SECONDS,
    longest: float = LONGEST_PAUSE_SECONDS,
) -> Iterator[int]:
    """The numbers of attempts, from 1, with growing pauses between them that keep rivals apart.

    They end after `most` attempts, or with the attempt during which `seconds` have passed. Whoever makes them decides
    what is worth another one, returns or raises otherwise, and says what it means that they came to an end.
    """
    import stamina
    from stamina.instrumentation import set_on_retry_hooks

    set_on_retry_hooks([])  # jobs have their own way to tell that they try again
    number = 0

    def pause(_: Exception) -> float:
        # The pauses of stamina itself lose their jitter as soon as they are the longest, and rivals would keep step.
        growing = shortest * 2.0 ** min(number - 1, 30)
        return random.uniform(0.3, 1.0) * min(growing, longest)  # noqa: S311 - spreads rivals, guards nothing

    with suppress(_Again):
        for attempt in stamina.retry_context(on=pause, attempts=most, timeout=seconds):
            number = attempt.num
            yield number
            with attempt:
                raise _Again

"""Retries with growing, random pauses."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress

MAX_ATTEMPTS = 20
"""The default limit."""
SHORTEST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.05, 2.0


class _Again(Exception):
    """Ends an attempt, so that stamina starts the next one."""


def attempts(
    most: int | None = MAX_ATTEMPTS,
    *,
    seconds: float | None = None,
    shortest: float = SHORTEST_PAUSE_SECONDS,
    longest: float = LONGEST_PAUSE_SECONDS,
) -> Iterator[int]:
    """Yield the numbers of attempts, from 1, with growing random pauses between them.

    The last attempt is number `most`, or the one during which `seconds` have passed. The caller returns or raises when
    it needs no further attempt, and decides what it means if the attempts run out.
    """
    import stamina
    from stamina.instrumentation import set_on_retry_hooks

    set_on_retry_hooks([])  # jobs report their retries themselves
    number = 0

    def pause(_: Exception) -> float:
        # Stamina's own pauses lose their jitter at the longest pause, so that competing writers would stay in step.
        growing = shortest * 2.0 ** min(number - 1, 30)
        return random.uniform(0.3, 1.0) * min(growing, longest)  # noqa: S311 - not for security

    with suppress(_Again):
        for attempt in stamina.retry_context(on=pause, attempts=most, timeout=seconds):
            number = attempt.num
            yield number
            with attempt:
                raise _Again

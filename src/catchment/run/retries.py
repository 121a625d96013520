"""Decides whether and when a failed attempt is followed by another, by the kind of failure and never by its text.

| failure                                        | Always | OnFailure | OnError | OnTransientError |
|------------------------------------------------|--------|-----------|---------|------------------|
| `job`: the job itself failed                   | yes    | yes       | no      | no               |
| `transient`: a conflict, a store not answering | yes    | yes       | yes     | yes              |
| `engine`: the engine died under the job        | yes    | yes       | yes     | yes              |
| `setup`: the machine or the request is at fault| yes    | no        | yes     | no               |

OnFailure is the default, as in the dialect. `count` is the number of further attempts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from catchment.engine.protocol import Failed
from catchment.errors import EngineLost, EngineOutOfMemory
from catchment.spec.model import Retry, RetryStrategy

FailureKind = Literal["job", "transient", "engine", "setup"]

RETRIED: Mapping[RetryStrategy, frozenset[FailureKind]] = {
    "Always": frozenset({"job", "transient", "engine", "setup"}),
    "OnFailure": frozenset({"job", "transient", "engine"}),
    "OnError": frozenset({"transient", "engine", "setup"}),
    "OnTransientError": frozenset({"transient", "engine"}),
}


def kind_of(failure: Failed | EngineLost) -> FailureKind:
    """The kind of a failure, whether an engine reported it or was lost itself."""
    if isinstance(failure, EngineLost):
        return "engine"
    if failure.retryable:
        return "transient"
    return "setup" if failure.setup else "job"


def blamed(lost: EngineLost, attempt: str, *, alone: bool) -> Failed | EngineLost:
    """What the loss of an engine means for one of its attempts.

    If the attempt was alone on an engine that ran out of memory, it would do so again: the job failed. If other
    attempts were running too, it is unknown which one used the memory, and each may be retried.
    """
    if alone and isinstance(lost, EngineOutOfMemory):
        return Failed(attempt, lost.code, lost.message, retryable=False, hint=lost.hint)
    return lost


def pause_before_next(retry: Retry, kind: FailureKind, failures: int, seconds: float) -> float | None:
    """The pause before the next attempt; None if there is no next attempt.

    `failures` counts the attempts that failed so far, `seconds` is the time since the first of them began.
    """
    if failures > retry.count or kind not in RETRIED[retry.strategy]:
        return None
    pause: float = retry.pause * 2 ** (failures - 1)
    if retry.max_duration is not None and seconds + pause > retry.max_duration:
        return None
    return pause

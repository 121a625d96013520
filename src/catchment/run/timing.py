"""How long the parts of a run may take."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Timing:
    """How long things may take, in seconds."""

    lease: float = 20.0
    """A run whose lease was not renewed for this long is dead. Workers notice a lost launcher sooner than that."""
    cancel: float = 4.0
    """How long Spark may take to cancel a job before its engine is ended."""
    stop: float = 5.0
    """How long an engine may take to end by itself."""

"""Patience with a metastore that does not answer: its steps may be repeated, so a lost answer is no failure."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from catchment.errors import MetastoreUnavailable

PATIENCE_SECONDS = 60.0
PAUSE_SECONDS = 0.5

Answer = TypeVar("Answer")


def patiently(step: Callable[[], Answer]) -> Answer:
    """Take a step that may be repeated, again and again while the metastore is away, for a minute at least."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return step()
        except MetastoreUnavailable:
            if time.monotonic() > deadline:
                raise
            time.sleep(PAUSE_SECONDS)

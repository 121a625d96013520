"""Decides whether the writes of a commit that failed for good are to blame.

Writes that are to blame are set aside, so that they do not block their table. If the engine or the store is in trouble,
every other write would fail in the same way: they all stay where they are and wait.
"""

from __future__ import annotations

from collections.abc import Sequence

from catchment.formats.descriptor_memory import FITS_ANYWHERE, size_of
from catchment.formats.failures import from_spark
from catchment.jvm.causes import causes, is_a
from catchment.store.writes import Entry

OF_THE_STORE = frozenset({"disk-full", "no-permission"})


def are_to_blame(writes: Sequence[Entry], error: Exception) -> bool:
    """Whether an error of the JVM that will not pass by itself is about these writes."""
    if is_a(error, "java.lang.OutOfMemoryError"):
        return size_of(writes) > FITS_ANYWHERE
    if any(cause.status is not None for cause in causes(error)):
        return False  # the store has answered, and refuses what every commit needs
    return from_spark(error).code not in OF_THE_STORE

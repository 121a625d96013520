"""Writes that cannot be published although the table exists: they are set aside with the reason, and kept."""

from __future__ import annotations

from catchment.errors import JobError
from catchment.store.writes import Entry

SET_ASIDE = "write-set-aside"
"""The error code of these writes, also after a person has dropped them."""
UNREADABLE = (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError)
"""What Python raises for a descriptor that is damaged, too large or malformed. Failures of a store, a catalog or the
metastore have other types, and are not the fault of a write."""


def set_aside_error(write: Entry, reason: str) -> JobError:
    """The error of a write that is set aside."""
    return JobError(
        f"{write.write_id} cannot be published to {write.intent.target} and was set aside: {reason}",
        code=SET_ASIDE,
        hint="other writes go on; `catchment recover --retry` tries this one again, `catchment recover --drop` gives "
        "it up, then run its job in a new run",
    )


def unreadable(write: Entry, error: Exception) -> JobError:
    """The error of a write that is set aside because the descriptors of its files cannot be read."""
    return set_aside_error(write, f"its descriptors cannot be read: {type(error).__name__}: {error}")

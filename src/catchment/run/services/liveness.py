"""Whether a service is alive: its lease tells, and on this machine also its process."""

from __future__ import annotations

from dataclasses import replace

from catchment import process_identity
from catchment.store import Store
from catchment.store.services import ServiceRecord


def current(store: Store, record: ServiceRecord) -> ServiceRecord:
    """A service as it is now: one whose supervisor was killed on this machine is dead at once."""
    if not record.is_active or not process_identity.is_gone(record.supervisor):
        return record
    # Read again: it may have ended in the usual way after it was read, and have recorded that.
    again = store.services.find(record.order.name) or record
    return replace(again, status="dead") if again.is_active and again.supervisor == record.supervisor else again

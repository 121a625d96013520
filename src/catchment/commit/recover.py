"""Recovery: finish what is sealed, abandon what is open and ownerless, remove what nobody will ever publish."""

from __future__ import annotations

from dataclasses import dataclass

from catchment.commit.publish import Publisher


@dataclass(frozen=True)
class Recovered:
    """What recovery did to one table, or would do."""

    target: str
    published: tuple[str, ...]
    abandoned: tuple[str, ...]
    removed: tuple[str, ...]
    """Buffers whose files were removed."""
    busy: bool = False
    """Somebody else consolidates the table right now: its sealed writes are in good hands."""


def recover(publisher: Publisher, *, dry_run: bool) -> Recovered:
    """Recover one table."""
    ledger, target = publisher.ledger, publisher.target
    sealed = tuple(write.write_id for write in ledger.pending(target, limit=100_000))
    lost = ledger.ownerless(target)
    if dry_run:
        left = tuple(buffer for _, buffer in ledger.leftovers(target)) + tuple(write.intent.buffer for write in lost)
        return Recovered(target, sealed, tuple(write.write_id for write in lost), left)
    busy = bool(sealed) and not publisher.consolidate()
    for write in lost:
        ledger.abandon(write, {"code": "engine-lost", "message": f"the engine that wrote {write.write_id} is gone"})
    published = tuple(write_id for write_id in sealed if ledger.state(write_id) == "committed")
    removed = _remove(publisher)
    return Recovered(target, published, tuple(write.write_id for write in lost), removed, busy)


def _remove(publisher: Publisher) -> tuple[str, ...]:
    """Remove leftovers, but never a file that any snapshot may still read."""
    table = publisher.table
    table.refresh()
    left = [buffer for _, buffer in publisher.ledger.leftovers(publisher.target)]
    gone = tuple(buffer for buffer in left if not table.refers_to(buffer))
    for buffer in gone:
        table.java.io().deletePrefix(buffer)
    publisher.ledger.forget(gone)
    return gone

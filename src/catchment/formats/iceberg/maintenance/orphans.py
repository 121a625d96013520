"""Orphans: files in a table's directories that none of its snapshots refers to.

Files of writes on their way look like orphans, too. The ledger knows those: their directories are spared, whatever
their age. What somebody writes into no directory of its own (a merge, a compaction, a direct commit) is spared by its
time: nothing is removed that is younger than the oldest write or job under way.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from py4j.java_gateway import is_instance_of

from catchment.errors import JobError
from catchment.formats.iceberg.java import Jvm
from catchment.formats.iceberg.maintenance.model import MaintainedTable
from catchment.formats.iceberg.maintenance.retention import shown, undisturbed
from catchment.formats.iceberg.table import LakeTable
from catchment.formats.model import MaintenanceResult
from catchment.jvm.classes import callback
from catchment.plan.model import RemoveOrphans
from catchment.store.in_flight import CLOCKS_APART_SECONDS

DEFAULT_AGE_SECONDS = 3 * 24 * 60 * 60
ADVISED_AGE_SECONDS = 24 * 60 * 60
"""What is younger may be the work of a program that Catchment does not know."""
BATCH = 1000


def remove_orphans(maintained: MaintainedTable, operation: RemoveOrphans) -> MaintenanceResult:
    """Remove orphans of a table, or only look for them."""
    with undisturbed(maintained):
        return _remove_orphans(maintained, operation)


def _remove_orphans(maintained: MaintainedTable, operation: RemoveOrphans) -> MaintenanceResult:
    now = time.time()
    wanted = now - DEFAULT_AGE_SECONDS if operation.before is None else operation.before / 1000
    # Before the table is looked at: what is open now and published a moment later is an orphan to that look.
    waiting = maintained.needs.writes()
    under_way = (maintained.needs.readers_since() or now) - CLOCKS_APART_SECONDS
    maintained.table.refresh()
    if now - wanted < ADVISED_AGE_SECONDS:
        maintained.listener.warn(
            f"{maintained.dataset.address}: files of the last 24 hours count as orphans; what programs other than "
            "Catchment are writing now is among them"
        )
    found = _orphans(maintained, min(wanted, waiting.oldest, under_way), _place(maintained, operation.location))
    # A published version may be older than what the table itself remembers of its metadata files.
    spared = waiting.buffers | shown(maintained).files
    gone = [path for path in found if not spared.intersection(path.split("/"))]
    if not operation.dry_run:
        _remove(maintained, gone, operation.deletes or 1)
    facts = {"files": gone, "spared": len(found) - len(gone), "dry_run": operation.dry_run}
    return MaintenanceResult(0 if operation.dry_run else len(gone), facts=facts)


def _orphans(maintained: MaintainedTable, before: float, location: str | None) -> list[str]:
    """Iceberg's own search, with a hand that removes nothing."""
    jvm = Jvm.of(maintained.spark)
    action = (
        jvm.iceberg("spark.actions.SparkActions")
        .get(maintained.spark._jsparkSession)
        .deleteOrphanFiles(maintained.table)
    )
    seen = jvm("java.util.ArrayList")()
    kept = callback(maintained.spark, "java.util.function.Consumer", seen, "add", "java.lang.Object")
    action = action.olderThan(int(before * 1000)).deleteWith(kept)
    result = (action.location(location) if location else action).execute()
    listed = str(jvm("java.lang.String").join("\n", result.orphanFileLocations()))
    return sorted(listed.split("\n")) if listed else []


def _place(maintained: MaintainedTable, location: str | None) -> str | None:
    """The directory that was asked for, which must be the table's own: elsewhere, everything looks like an orphan."""
    if location is None:
        return None
    root = str(maintained.table.location()).rstrip("/")
    place = location.rstrip("/") if location[:1] == "/" or "://" in location else f"{root}/{location.rstrip('/')}"
    own = (root, LakeTable(maintained.spark, maintained.table).data_location.rstrip("/"))
    if ".." in place.split("/") or not any(place == each or place.startswith(f"{each}/") for each in own):
        raise JobError(
            f"{location} is no directory of {maintained.dataset.address}",
            code="location-outside-table",
            hint=f"name a directory below {root}, or leave `location` out",
        )
    return place


def _remove(maintained: MaintainedTable, paths: Sequence[str], at_once: int) -> None:
    io = maintained.table.io()
    gateway: Any = maintained.spark.sparkContext._gateway
    bulk = is_instance_of(gateway, io, "org.apache.iceberg.io.SupportsBulkOperations")

    def remove(batch: Sequence[str]) -> None:
        maintained.listener.check()
        if bulk:
            io.deleteFiles(list(batch))
        else:
            for path in batch:
                io.deleteFile(path)

    with ThreadPoolExecutor(max_workers=at_once) as pool:
        for _ in pool.map(remove, _batches(paths)):
            pass


def _batches(paths: Sequence[str]) -> Iterator[Sequence[str]]:
    return (paths[start : start + BATCH] for start in range(0, len(paths), BATCH))

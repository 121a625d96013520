"""Removes orphans: files in a table's directories that none of its snapshots refers to.

Files of unfinished writes look like orphans. The ledger knows the buffers of buffered writes, which are kept whatever
their age. Other writers (merge, compaction, direct commit) have no directory of their own; their files are kept because
nothing is removed that is newer than the oldest write or job under way.
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
from catchment.formats.iceberg.maintenance.retention import published_retention, publishing_lease
from catchment.formats.iceberg.table import LakeTable
from catchment.formats.model import MaintenanceResult
from catchment.jvm.classes import callback
from catchment.plan.model import RemoveOrphans
from catchment.store.in_flight import CLOCKS_APART_SECONDS

DEFAULT_AGE_SECONDS = 3 * 24 * 60 * 60
ADVISED_AGE_SECONDS = 24 * 60 * 60
"""Newer files may belong to programs that Catchment does not know."""
BATCH = 1000


def remove_orphans(maintained: MaintainedTable, operation: RemoveOrphans) -> MaintenanceResult:
    """Remove the orphans of a table, or only list them."""
    with publishing_lease(maintained):
        return _remove_orphans(maintained, operation)


def _remove_orphans(maintained: MaintainedTable, operation: RemoveOrphans) -> MaintenanceResult:
    now = time.time()
    wanted = now - DEFAULT_AGE_SECONDS if operation.before is None else operation.before / 1000
    # Read before the table: a write that is open now and published a moment later would look like an orphan.
    waiting = maintained.needs.writes()
    under_way = (maintained.needs.readers_since() or now) - CLOCKS_APART_SECONDS
    maintained.table.refresh()
    if now - wanted < ADVISED_AGE_SECONDS:
        maintained.listener.warn(
            f"{maintained.dataset.address}: files of the last 24 hours may be removed, even if a program other than "
            "Catchment is writing them now"
        )
    found = _orphans(maintained, min(wanted, waiting.oldest, under_way), _place(maintained, operation.location))
    # A published version may be older than the metadata files that the table still lists.
    spared = waiting.buffers | published_retention(maintained).files
    gone = [path for path in found if not spared.intersection(path.split("/"))]
    if not operation.dry_run:
        _remove(maintained, gone, operation.deletes or 1)
    facts = {"files": gone, "spared": len(found) - len(gone), "dry_run": operation.dry_run}
    return MaintenanceResult(0 if operation.dry_run else len(gone), facts=facts)


def _orphans(maintained: MaintainedTable, before: float, location: str | None) -> list[str]:
    """Iceberg's search for orphans as a dry run: lists what would be removed."""
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
    """The requested directory; raises if it is not the table's, where every file would look like an orphan."""
    if location is None:
        return None
    root = str(maintained.table.location()).rstrip("/")
    place = location.rstrip("/") if location[:1] == "/" or "://" in location else f"{root}/{location.rstrip('/')}"
    own = (root, LakeTable(maintained.spark, maintained.table).data_location.rstrip("/"))
    if ".." in place.split("/") or not any(place == each or place.startswith(f"{each}/") for each in own):
        raise JobError(
            f"{location} is not a directory of {maintained.dataset.address}",
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

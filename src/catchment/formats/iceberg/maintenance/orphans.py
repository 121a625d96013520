"""Removes orphans: files in a table's directories that none of its snapshots refers to.

Files of unfinished writes look like orphans. The ledger knows the buffers of buffered writes, which are kept regardless
of their age. Other writers (merge, compaction, direct commit) have no directory of their own; their files are kept
because nothing is removed that is newer than the oldest write or job under way. Where tables share a directory, files
of the others look like orphans, too, so every other table of the catalog is checked.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from os.path import commonprefix
from typing import Any

from py4j.java_gateway import is_instance_of

from catchment.errors import JobError
from catchment.formats.iceberg.file_protection import require_removable
from catchment.formats.iceberg.java import Jvm
from catchment.formats.iceberg.maintenance.model import MaintainedTable
from catchment.formats.iceberg.maintenance.neighbours import neighbours
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
FILE_LIST = "file_path STRING, last_modified TIMESTAMP"


def remove_orphans(maintained: MaintainedTable, operation: RemoveOrphans) -> MaintenanceResult:
    """Remove the orphans of a table, or only list them."""
    with publishing_lease(maintained):
        return _remove_orphans(maintained, operation)


def _remove_orphans(maintained: MaintainedTable, operation: RemoveOrphans) -> MaintenanceResult:
    now = time.time()
    wanted = now - DEFAULT_AGE_SECONDS if operation.before is None else operation.before / 1000
    # Read before the table: a write that is open now and published a moment later would look like an orphan.
    waiting = maintained.needs.writes(str(maintained.table.uuid()))
    under_way = (maintained.needs.readers_since() or now) - CLOCKS_APART_SECONDS
    maintained.table.refresh()
    if now - wanted < ADVISED_AGE_SECONDS:
        maintained.listener.warn(
            f"{maintained.dataset.address}: files of the last 24 hours may be removed, even if a program other than "
            "Catchment is writing them now"
        )
    place = _place(maintained, operation.location)
    others = neighbours(maintained, place)
    found = _orphans(maintained, min(wanted, waiting.oldest, others.oldest, under_way), place)
    for other in others.tables:
        found = _also_orphans(other, found)
    if others.tables:
        maintained.listener.warn(
            f"{maintained.dataset.address} shares a directory with "
            f"{', '.join(other.dataset.address for other in others.tables)}; the files of other tables are kept"
        )
    # A published version may be older than the metadata files that the table still lists.
    spared = waiting.buffers | published_retention(maintained).files | others.names
    gone = [path for path in found if not spared.intersection(path.split("/"))]
    if not operation.dry_run:
        _remove(maintained, gone, operation.deletes or 1)
    facts = {"files": gone, "spared": len(found) - len(gone), "dry_run": operation.dry_run}
    return MaintenanceResult(0 if operation.dry_run else len(gone), facts=facts)


def _orphans(maintained: MaintainedTable, before: float, place: str) -> list[str]:
    """Files below a directory that no snapshot of the table refers to."""
    return _found(maintained, _search(maintained).olderThan(int(before * 1000)).location(place))


def _also_orphans(maintained: MaintainedTable, files: Sequence[str]) -> list[str]:
    """The files among these that no snapshot of this table refers to either."""
    if not files:
        return []
    old = datetime.fromtimestamp(0, timezone.utc)
    listed = maintained.spark.createDataFrame([(path, old) for path in files], FILE_LIST)
    begin_with = commonprefix(files)  # noqa: RUF071 - Iceberg compares plain text prefixes
    return _found(maintained, _search(maintained).location(begin_with).compareToFileList(listed._jdf))


def _search(maintained: MaintainedTable) -> Any:
    """Iceberg's search for orphans as a dry run, which only lists what it finds; raises if the files have to stay."""
    require_removable(maintained.table, maintained.dataset.address)
    jvm = Jvm.of(maintained.spark)
    actions = jvm.iceberg("spark.actions.SparkActions").get(maintained.spark._jsparkSession)
    seen = jvm("java.util.ArrayList")()
    kept = callback(maintained.spark, "java.util.function.Consumer", seen, "add", "java.lang.Object")
    return actions.deleteOrphanFiles(maintained.table).deleteWith(kept)


def _found(maintained: MaintainedTable, search: Any) -> list[str]:
    found = search.execute().orphanFileLocations()
    listed = str(Jvm.of(maintained.spark)("java.lang.String").join("\n", found))
    return sorted(listed.split("\n")) if listed else []


def _place(maintained: MaintainedTable, location: str | None) -> str:
    """The requested directory; raises if it is not the table's, because every file there would look like an orphan."""
    root = str(maintained.table.location()).rstrip("/")
    if location is None:
        return root
    place = location.rstrip("/") if location[:1] == "/" or "://" in location else f"{root}/{location.rstrip('/')}"
    own = (root, LakeTable(maintained.spark, maintained.table).state().data_location.rstrip("/"))
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

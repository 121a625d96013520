"""`set_version`: switches the published version of a table, which readers of the published catalog see.

Nothing is written to the table. After a crash the pointer has moved or not; running the change again is safe.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from catchment.commit import faults
from catchment.commit.leases import table_lease
from catchment.commit.listener import Listener
from catchment.commit.spark_progress import spark_progress
from catchment.commit.writer import Writer
from catchment.errors import CommitConflict, JobError
from catchment.formats.iceberg.catalogs import Table
from catchment.formats.iceberg.changes.swap import swap_attempts
from catchment.formats.iceberg.metadata_files import Version
from catchment.formats.iceberg.published import Pointer, PublishedTable
from catchment.formats.iceberg.versions import Versions
from catchment.formats.model import Requester
from catchment.jvm.causes import is_a
from catchment.plan.model import ChangePlan
from catchment.run_model import snapshot_name
from catchment.store.publications import Publication, Publications

DELETES_METADATA = "write.metadata.delete-after-commit.enabled"
"""The property of tables that delete old metadata files when they commit new ones."""


@dataclass(frozen=True)
class _Moved:
    before: Pointer | None
    after: Version

    @property
    def changed(self) -> bool:
        return self.before is None or self.before.location != self.after.location


def set_version(
    spark: SparkSession,
    table: Table,
    change: ChangePlan,
    requester: Requester,
    writer: Writer,
    listener: Listener,
    *,
    dry_run: bool,
) -> Mapping[str, Any]:
    """Publish the requested version for readers, and record who requested it."""
    catalog, address = _required(change), change.dataset.address
    published, versions = PublishedTable(spark, catalog, change.dataset), Versions(spark, table)
    value = str(change.arguments["value"])
    if dry_run:
        moved = _move(published, versions, value, dry_run=True)
    else:
        # The swap guards the pointer. The lease guards the record: no other move may come between a move and its row.
        with table_lease(writer.store, address, writer.owner, listener, spark_progress(spark), "published"):
            moved = _move(published, versions, value, dry_run=False)
            _record(writer.store.publications, address, catalog, moved, requester)
    before = Version(moved.before.location) if moved.before else None
    return {
        "catalog": catalog,
        "before": {"version": before.number, "file": before.file} if before else None,
        "after": {"version": moved.after.number, "file": moved.after.file, "location": moved.after.location},
        "snapshot_id": snapshot_name(moved.after.snapshot_id),
        "changed": moved.changed,
    }


def _required(change: ChangePlan) -> str:
    if change.published is None:
        raise JobError(
            f"depot {change.dataset.depot} has no published catalog",
            code="no-published-catalog",
            hint="add `publish:` to the depot in catchment.yaml",
        )
    return change.published


def _move(published: PublishedTable, versions: Versions, value: str, *, dry_run: bool) -> _Moved:
    trouble: Exception | None = None
    for _ in swap_attempts():
        versions.table.refresh()
        _check_kept(versions.table)
        try:
            moved = _Moved(published.pointer(), versions.find(value))
            if not moved.changed:
                return moved
            _check_readable(versions.table, moved.after)
            if dry_run:
                return moved
            faults.point("before-pointer-moved")
            if published.move(moved.before, moved.after.location):
                faults.point("pointer-moved")
                return moved
        except Exception as error:
            # If the answer of a swap was lost, the next iteration reads whether it took place.
            if not is_a(error, "java.sql.SQLException"):
                raise
            trouble = error
    raise CommitConflict(
        "others keep publishing versions of the table, or the catalog's database does not answer",
        code="publish-contention",
        hint="try again; readers see one of the versions that were requested",
    ) from trouble


def check_property_change(spark: SparkSession, change: ChangePlan) -> None:
    """Raise if a property would make a published table delete its metadata files."""
    wanted = change.arguments.get("properties", {}) if change.name == "properties_set" else {}
    if change.published is None or str(wanted.get(DELETES_METADATA)).lower() != "true":
        return
    if PublishedTable(spark, change.published, change.dataset).pointer() is not None:
        raise _not_kept(f"a version of the table is published, and {DELETES_METADATA} would remove its file")


def _check_kept(table: Table) -> None:
    if str(table.properties().get(DELETES_METADATA)).lower() == "true":
        raise _not_kept(
            "the table deletes old metadata files when it commits, and readers would lose the published version"
        )


def _not_kept(message: str) -> JobError:
    hint = f"leave {DELETES_METADATA} unset: `catchment table properties unset ADDRESS {DELETES_METADATA}`"
    return JobError(message, code="metadata-not-kept", hint=hint)


def _check_readable(table: Table, version: Version) -> None:
    """Raise if the snapshot of a version has expired, which its metadata file may outlive."""
    if version.snapshot_id is not None and table.snapshot(version.snapshot_id) is None:
        raise JobError(
            f"{version.file} refers to snapshot {version.snapshot_id}, which has expired",
            code="version-expired",
            hint="publish a version whose snapshot `catchment table snapshots` still lists",
        )


def _record(publications: Publications, address: str, catalog: str, moved: _Moved, requester: Requester) -> None:
    after, before = moved.after, moved.before.location if moved.before else None
    if moved.changed:
        made = Publication(address, catalog, after.location, before, after.snapshot_id, *requester.recorded)
        publications.record(made)
        faults.point("publication-recorded")
    elif moved.before:
        seen = Publication(
            address, catalog, after.location, moved.before.before, after.snapshot_id, *requester.recorded
        )
        publications.record_missing(seen)

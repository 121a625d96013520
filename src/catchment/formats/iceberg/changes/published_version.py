"""`set_version`: readers of the published catalog see another version of a table, from one moment to the next.

Nothing is written to the table. Whoever dies in between has moved the pointer or not; doing it again finds out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from catchment.commit import faults
from catchment.commit.leases import turn
from catchment.commit.listener import Listener
from catchment.commit.writer import Writer
from catchment.errors import CommitConflict, JobError
from catchment.formats.iceberg.catalogs import Table
from catchment.formats.iceberg.changes.swap import looks
from catchment.formats.iceberg.published import Pointer, Published
from catchment.formats.iceberg.versions import Version, Versions
from catchment.formats.model import Asker
from catchment.jvm.causes import is_a
from catchment.plan.model import ChangePlan
from catchment.store.publications import Publication, Publications

FORGETS = "write.metadata.delete-after-commit.enabled"
"""The property of tables that remove metadata files when others are committed."""


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
    asker: Asker,
    writer: Writer,
    listener: Listener,
    *,
    dry_run: bool,
) -> Mapping[str, Any]:
    """Let readers see the version that is meant, and remember who asked for it."""
    catalog, address = _required(change), change.dataset.address
    published, versions = Published(spark, catalog, change.dataset), Versions(spark, table)
    value = str(change.arguments["value"])
    if dry_run:
        moved = _move(published, versions, value, dry_run=True)
    else:
        # Not for the pointer, which the swap guards, but for the record: nobody is between a move and its row in it.
        with turn(writer.store, address, writer.owner, listener, "published"):
            moved = _move(published, versions, value, dry_run=False)
            _record(writer.store.publications, address, catalog, moved, asker)
    before = Version(moved.before.location) if moved.before else None
    return {
        "catalog": catalog,
        "before": {"version": before.number, "file": before.file} if before else None,
        "after": {"version": moved.after.number, "file": moved.after.file, "location": moved.after.location},
        "snapshot_id": moved.after.snapshot_id,
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


def _move(published: Published, versions: Versions, value: str, *, dry_run: bool) -> _Moved:
    trouble: Exception | None = None
    for _ in looks():
        versions.table.refresh()
        _check_kept(versions.table)
        try:
            moved = _Moved(published.look(), versions.find(value))
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
            # Whether a swap with a lost answer took place, the next look tells.
            if not is_a(error, "java.sql.SQLException"):
                raise
            trouble = error
    raise CommitConflict(
        "others publish versions of the table all the time, or the catalog's database does not answer",
        code="publish-contention",
        hint="try again; what readers see is one of the versions that somebody asked for",
    ) from trouble


def check_still_kept(spark: SparkSession, change: ChangePlan) -> None:
    """Refuse to let a table forget its metadata files while readers see one of them."""
    wanted = change.arguments.get("properties", {}) if change.name == "properties_set" else {}
    if change.published is None or str(wanted.get(FORGETS)).lower() != "true":
        return
    if Published(spark, change.published, change.dataset).look() is not None:
        raise _not_kept(f"a version of the table is published, and its file would be removed: {FORGETS}")


def _check_kept(table: Table) -> None:
    if str(table.properties().get(FORGETS)).lower() == "true":
        raise _not_kept(
            "the table removes its metadata files when others are committed, and readers would lose what they see"
        )


def _not_kept(message: str) -> JobError:
    hint = f"leave {FORGETS} unset: `catchment table properties unset ADDRESS {FORGETS}`"
    return JobError(message, code="metadata-not-kept", hint=hint)


def _check_readable(table: Table, version: Version) -> None:
    """A metadata file outlives the snapshot that it shows."""
    if version.snapshot_id is not None and table.snapshot(version.snapshot_id) is None:
        raise JobError(
            f"{version.file} shows snapshot {version.snapshot_id}, which was expired",
            code="version-expired",
            hint="publish a version whose snapshot `catchment table snapshots` still lists",
        )


def _record(publications: Publications, address: str, catalog: str, moved: _Moved, asker: Asker) -> None:
    after, before = moved.after, moved.before.location if moved.before else None
    if moved.changed:
        made = Publication(address, catalog, after.location, before, after.snapshot_id, *asker.told)
        publications.record(made)
        faults.point("publication-recorded")
    elif moved.before:
        seen = Publication(address, catalog, after.location, moved.before.before, after.snapshot_id, *asker.told)
        publications.record_missing(seen)

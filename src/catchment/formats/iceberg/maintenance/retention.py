"""What readers of the published catalog still need: the published version, and earlier ones they may be reading."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from catchment.commit.leases import table_lease
from catchment.commit.spark_progress import spark_progress
from catchment.errors import JobError
from catchment.formats.iceberg.changes.published_version import DELETES_METADATA
from catchment.formats.iceberg.java import Jvm
from catchment.formats.iceberg.maintenance.model import MaintainedTable
from catchment.formats.iceberg.published import PublishedTable
from catchment.formats.iceberg.traits import FILE_MISSING
from catchment.jvm.causes import is_a
from catchment.store.in_flight import CLOCKS_APART_SECONDS
from catchment.store.publications import Publication


@dataclass(frozen=True)
class PublishedRetention:
    """What published versions of one table need at one moment."""

    snapshots: frozenset[int] = frozenset()
    """Heads and tags of the published version, and snapshots of versions that current readers may be reading."""
    files: frozenset[str] = frozenset()
    """The names of their metadata files."""


def publishing_lease(maintained: MaintainedTable) -> AbstractContextManager[None]:
    """Hold the lease for publishing, so that nobody publishes a version that is about to be removed."""
    if maintained.dataset.depot not in maintained.writer.published:
        return nullcontext()
    writer, address, progress = maintained.writer, maintained.dataset.address, spark_progress(maintained.spark)
    return table_lease(writer.store, address, writer.owner, maintained.listener, progress, "published")


def published_retention(maintained: MaintainedTable) -> PublishedRetention:
    """What must be kept; nothing if the table was never published."""
    catalog = maintained.writer.published.get(maintained.dataset.depot)
    pointer = PublishedTable(maintained.spark, catalog, maintained.dataset).pointer() if catalog else None
    if catalog is None or pointer is None:
        return PublishedRetention()
    recent = list(_recent(maintained, catalog))
    snapshots = {publication.snapshot_id for publication in recent if publication.snapshot_id is not None}
    files = {pointer.location, *(publication.file for publication in recent)}
    heads = _heads(maintained, pointer.location)
    return PublishedRetention(frozenset(snapshots | heads), frozenset(file.rpartition("/")[2] for file in files))


def check_metadata_kept(maintained: MaintainedTable) -> None:
    """Raise if commits to a published table would delete its metadata files."""
    if (
        str(maintained.table.properties().get(DELETES_METADATA)).lower() == "true"
        and published_retention(maintained).files
    ):
        raise JobError(
            f"{maintained.dataset.address} is published, but deletes old metadata files when it commits",
            code="metadata-not-kept",
            hint=f"unset its property {DELETES_METADATA}: any commit may delete the file of the published version",
        )


def _recent(maintained: MaintainedTable, catalog: str) -> Iterator[Publication]:
    """The publications that were visible at any time since the oldest current reader began."""
    since = maintained.needs.readers_since()
    made = [publication for publication in maintained.needs.publications() if publication.catalog == catalog]
    for publication, later in zip(made, [*made[1:], None], strict=True):
        gone = later.at if later else None
        if gone is None or (since is not None and gone > since - CLOCKS_APART_SECONDS):
            yield publication


def _heads(maintained: MaintainedTable, location: str) -> set[int]:
    """The current snapshot of a metadata file, and those of its branches and tags."""
    parser = Jvm.of(maintained.spark).iceberg("TableMetadataParser")
    try:
        metadata: dict[str, Any] = json.loads(str(parser.toJson(parser.read(maintained.table.io(), location))))
    except Exception as error:
        if not is_a(error, FILE_MISSING):
            raise
        maintained.listener.warn(
            f"{maintained.dataset.address}: the file of the published version is missing: {location}"
        )
        return set()
    current = metadata.get("current-snapshot-id")
    named = {int(ref["snapshot-id"]) for ref in metadata.get("refs", {}).values()}
    return named | ({int(current)} if current not in (None, -1) else set())

"""What readers of a published catalog need of a table: the version that they see, and those that they saw just now."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from catchment.commit.leases import turn
from catchment.errors import JobError
from catchment.formats.iceberg.catalogs import EXCEPTIONS
from catchment.formats.iceberg.changes.published_version import FORGETS
from catchment.formats.iceberg.java import Jvm
from catchment.formats.iceberg.maintenance.model import MaintainedTable
from catchment.formats.iceberg.published import Published
from catchment.jvm.causes import is_a
from catchment.store.in_flight import CLOCKS_APART_SECONDS
from catchment.store.publications import Publication

NOT_THERE = f"{EXCEPTIONS}NotFoundException"


@dataclass(frozen=True)
class Shown:
    """Of one table, at one moment."""

    snapshots: frozenset[int] = frozenset()
    """Heads and tags of what is published, and what was while somebody who reads now began."""
    files: frozenset[str] = frozenset()
    """Names of metadata files."""


def undisturbed(maintained: MaintainedTable) -> AbstractContextManager[None]:
    """While this lasts, nobody publishes another version: it might be one that is about to go."""
    if maintained.dataset.depot not in maintained.writer.published:
        return nullcontext()
    return turn(
        maintained.writer.store, maintained.dataset.address, maintained.writer.owner, maintained.listener, "published"
    )


def shown(maintained: MaintainedTable) -> Shown:
    """What must stay; nothing where the table has never been published."""
    catalog = maintained.writer.published.get(maintained.dataset.depot)
    pointer = Published(maintained.spark, catalog, maintained.dataset).look() if catalog else None
    if catalog is None or pointer is None:
        return Shown()
    recent = list(_recent(maintained, catalog))
    snapshots = {publication.snapshot_id for publication in recent if publication.snapshot_id is not None}
    files = {pointer.location, *(publication.file for publication in recent)}
    heads = _heads(maintained, pointer.location)
    return Shown(frozenset(snapshots | heads), frozenset(file.rpartition("/")[2] for file in files))


def require_kept(maintained: MaintainedTable) -> None:
    """Refuse to commit to a table whose commits remove metadata files, while readers see one of them."""
    if str(maintained.table.properties().get(FORGETS)).lower() == "true" and shown(maintained).files:
        raise JobError(
            f"{maintained.dataset.address} is published and removes its metadata files when others are committed",
            code="metadata-not-kept",
            hint=f"unset its property {FORGETS}: any commit may remove the file that readers see",
        )


def _recent(maintained: MaintainedTable, catalog: str) -> Iterator[Publication]:
    """Publications that were to be seen at any time since the oldest of those who read now began."""
    since = maintained.needs.readers_since()
    made = [publication for publication in maintained.needs.publications() if publication.catalog == catalog]
    for publication, later in zip(made, [*made[1:], None], strict=True):
        gone = later.at if later else None
        if gone is None or (since is not None and gone > since - CLOCKS_APART_SECONDS):
            yield publication


def _heads(maintained: MaintainedTable, location: str) -> set[int]:
    """What a metadata file calls by a name, and what it shows to those who ask for nothing else."""
    parser = Jvm.of(maintained.spark).iceberg("TableMetadataParser")
    try:
        metadata: dict[str, Any] = json.loads(str(parser.toJson(parser.read(maintained.table.io(), location))))
    except Exception as error:
        if not is_a(error, NOT_THERE):
            raise
        maintained.listener.warn(f"{maintained.dataset.address}: the published version {location} is no longer there")
        return set()
    current = metadata.get("current-snapshot-id")
    named = {int(ref["snapshot-id"]) for ref in metadata.get("refs", {}).values()}
    return named | ({int(current)} if current not in (None, -1) else set())

"""Checks whether sealed writes still fit a table that may have changed since they began."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from catchment.errors import CatchmentError, JobError
from catchment.formats.iceberg.buffer import missing_file
from catchment.formats.iceberg.bulk import partitions_of
from catchment.formats.iceberg.fence import FENCE
from catchment.formats.iceberg.schema_changes import schema_change, was_redefined
from catchment.formats.iceberg.table import MAIN, LakeTable
from catchment.store.writes import Base, Entry

SAFE_SECONDS = 3600.0
"""No program removes files that are younger; later, sealed files are looked for before they are committed."""


class Fit:
    """Checks whether sealed writes still fit the current state of a table; shared answers are computed once."""

    def __init__(self, table: LakeTable) -> None:
        self._table, self._state = table, table.state()
        self._branches: dict[str, CatchmentError | None] = {}
        self._bases: dict[Base, str | None] = {}
        self._redefined: dict[Base, bool] = {}

    def refusal(self, write: Entry) -> CatchmentError | None:
        """The error if a write can no longer be published; None if it can."""
        intent = write.intent
        if self._state.uuid != intent.base.table_uuid:
            return _recreated(write)
        if intent.branch == MAIN and self._was_redefined(intent.base):
            return _redefined(write)
        if intent.branch not in self._branches:
            self._branches[intent.branch] = branch_refusal(self._table.java, intent.target, intent.branch)
        if (lost := self._branches[intent.branch]) is not None:
            return lost
        if intent.base not in self._bases:
            same = self._state.schema_id == intent.base.schema_id
            self._bases[intent.base] = None if same else schema_change(self._table, intent.base.schema_id)
        if (changed := self._bases[intent.base]) is not None:
            return _schema_changed(write, changed)
        mixed = _partitions_refusal(self._table, write) if intent.mode == "overwrite-partitions" else None
        return mixed or _vanished(self._table, write)

    def _was_redefined(self, base: Base) -> bool:
        if base not in self._redefined:
            self._redefined[base] = self._state.head != base.snapshot_id and was_redefined(self._table, base)
        return self._redefined[base]


def _recreated(write: Entry) -> JobError:
    return JobError(
        f"{write.intent.target} was dropped and created again while {write.write_id} was being written",
        code="table-replaced",
        hint="run the job again: its rows were written for the dropped table",
    )


def _redefined(write: Entry) -> JobError:
    return JobError(
        f"somebody replaced {write.intent.target} (CREATE OR REPLACE TABLE) while {write.write_id} was being written",
        code="table-redefined",
        hint="run the job again: its rows were written for the table as it was before",
    )


def _schema_changed(write: Entry, how: str) -> JobError:
    return JobError(
        f"{write.intent.target} {how} while {write.write_id} was being written",
        code="schema-changed",
        hint="let the job produce what the table has now, and run it again",
    )


def _vanished(table: LakeTable, write: Entry) -> CatchmentError | None:
    """The error if files that waited for long are no longer in the store: Iceberg would commit them all the same."""
    if write.sealed is None or write.sealed > time.time() - SAFE_SECONDS or write.contents is None:
        return None
    gone = missing_file(table, write.intent.buffer, [each["file-path"] for each in write.contents.descriptors])
    if gone is None:
        return None
    return JobError(
        f"{gone} of {write.write_id} is gone from {write.intent.target}",
        code="files-vanished",
        hint="run the job again in a new run; run `catchment recover` before other programs remove orphan files",
    )


def branch_refusal(table: Any, target: str, branch: str) -> CatchmentError | None:
    """The error if a branch does not exist: Iceberg would create one without history."""
    if branch == MAIN or ((found := table.refs().get(branch)) is not None and found.isBranch()):
        return None
    return JobError(
        f"{target} has no branch {branch}",
        code="branch-not-found",
        hint="create it with `catchment table branch create`; if that does not help, the catalog has no branches",
    )


def _partitions_refusal(table: LakeTable, write: Entry) -> CatchmentError | None:
    """The error if the table has files of several partition specs: Iceberg replaces only those of the current spec."""
    current, written = int(table.java.spec().specId()), _spec_ids(write)
    others = _live_specs(table, write.intent.branch) | written
    if written and others != {current}:
        return JobError(
            f"{write.intent.target} has data of partition spec {sorted(others - {current})} beside spec {current}; "
            "a dynamic overwrite would leave old rows of the same partitions in place",
            code="mixed-partition-specs",
            hint="rewrite the table into its current spec first, or use saveMode append or a full overwrite",
        )
    return None


def _spec_ids(write: Entry) -> set[int]:
    descriptors = write.contents.descriptors if write.contents else ()
    return {int(descriptor["spec-id"]) for descriptor in descriptors}


def _live_specs(table: LakeTable, branch: str) -> set[int]:
    head = table.head(branch)
    if head is None or table.java.specs().size() == 1:
        return set()
    manifests = head.dataManifests(table.java.io())
    return {int(m.partitionSpecId()) for m in manifests if m.hasAddedFiles() or m.hasExistingFiles()}


COMPACTION = "replace"


def was_compacted(now: Any, write: Entry) -> bool:
    """Whether a compaction is among the commits since the write's job began; `now` is Iceberg's table object."""
    return any(str(snapshot.operation()) == COMPACTION for snapshot in _since(now, write))


def anything_changed(now: Any, write: Entry) -> bool:
    """Whether there is a commit since the job began that changed rows."""
    line = list(_since(now, write))
    changes = (snapshot for snapshot in line if _changes_rows(snapshot))
    return not _reaches(line, write.intent.base.snapshot_id) or any(changes)


def partitions_changed(table: LakeTable, now: Any, write: Entry) -> bool:
    """Whether a commit since the job began changed rows of a partition that the write replaces."""
    line = list(_since(now, write))
    if not _reaches(line, write.intent.base.snapshot_id):
        return True  # the history since then is incomplete, so assume a conflict
    ours = _partitions(table, write)
    changes = (snapshot for snapshot in line if _changes_rows(snapshot))
    return any(_touches(table, file, ours) for snapshot in changes for file in _changed(table, snapshot))


def _changes_rows(snapshot: Any) -> bool:
    """Whether a commit changes rows: a compaction only moves them, and the empty commit of a fence has none."""
    return str(snapshot.operation()) != COMPACTION and snapshot.summary().get(FENCE) is None


def _since(now: Any, write: Entry) -> Iterator[Any]:
    """The commits of the write's branch since its base, newest first."""
    branch = write.intent.branch
    snapshot = now.currentSnapshot() if branch == MAIN else now.snapshot(branch)
    while snapshot is not None and snapshot.snapshotId() != write.intent.base.snapshot_id:
        yield snapshot
        parent = snapshot.parentId()
        snapshot = now.snapshot(parent) if parent is not None else None


def _reaches(line: list[Any], base: int | None) -> bool:
    return not line or line[-1].parentId() == base


def _partitions(table: LakeTable, write: Entry) -> frozenset[str]:
    return partitions_of(table.session, write.contents.descriptors if write.contents else (), table.java)


def _changed(table: LakeTable, snapshot: Any) -> Iterator[Any]:
    io = table.java.io()
    for files in (snapshot.addedDataFiles(io), snapshot.removedDataFiles(io), snapshot.addedDeleteFiles(io)):
        iterator = files.iterator()
        while iterator.hasNext():
            yield iterator.next()


def _touches(table: LakeTable, file: Any, partitions: frozenset[str]) -> bool:
    everywhere = bool(table.java.specs().get(file.specId()).isUnpartitioned())
    return everywhere or table.tables.partition(file, table.java) in partitions

"""An Iceberg table through Iceberg's Java API, for forks, history checks and commits."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from catchment.commit import faults
from catchment.formats.iceberg import bulk
from catchment.formats.iceberg.java import Jvm, Tables, tables
from catchment.formats.iceberg.traits import FILE_MISSING
from catchment.formats.iceberg.write_index import NEVER, Since, WriteIndex
from catchment.jvm.causes import is_a
from catchment.store.writes import Base

MAIN = "main"


@dataclass(frozen=True)
class TableState:
    """What a write needs to know about a table and the head of its branch."""

    uuid: str
    format_version: int
    schema_id: int
    sequence: int
    location: str
    properties: Mapping[str, str]
    head: int | None = None

    @property
    def data_location(self) -> str:
        """Where the table keeps its data files."""
        return self.properties.get("write.data.path", f"{self.location.rstrip('/')}/data")

    @property
    def base(self) -> Base:
        """The base of a write that begins now."""
        # Format v1 has no sequence numbers, so every snapshot counts as later.
        return Base(self.uuid, self.schema_id, self.sequence if self.format_version > 1 else -1, self.head)


@dataclass(frozen=True)
class SnapshotList:
    """The list of snapshots in the current metadata of a table."""

    session: SparkSession
    java: Any

    def count(self, end: int, last: int) -> int | None:
        """The number of snapshots; None if the one before index `end` is no longer `last`, as after an expiry."""
        found = tables(self.session).countSnapshots(self.java, end, last)
        return int(found) if found >= 0 else None

    def first(self, end: int, since: Since) -> int:
        """The index of the first snapshot before `end` that counts."""
        return int(tables(self.session).firstSnapshot(self.java, end, since.sequence, since.millis))

    def read(self, first: int, end: int) -> list[dict[str, Any]]:
        """The snapshots from one index to another, as JSON of the Iceberg table spec."""
        return bulk.snapshots(self.session, self.java, first, end)


class TableMoved(Exception):
    """Others have committed to the table since it was checked, so it must be checked again."""


class LakeTable:
    """A table of a catalog. Not thread-safe."""

    def __init__(self, session: SparkSession, java: Any) -> None:
        self.session, self.jvm = session, Jvm.of(session)
        self.java = java
        self.writes = WriteIndex()
        self._looked_at: Any = None

    @property
    def tables(self) -> Tables:
        return tables(self.session)

    def refresh(self) -> None:
        """Load what others have committed; reads the store only if there is something new."""
        self._looked_at = self.tables.refresh(self.java)

    def metadata(self) -> dict[str, Any]:
        """The current metadata, as JSON of the Iceberg table spec."""
        # Through a file: an answer of more than 8 kB from the JVM waits 40 ms for a timer of the network stack.
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "current.metadata.json"
            output = self.jvm.iceberg("Files").localOutput(str(path))
            self.jvm.iceberg("TableMetadataParser").overwrite(self.java.operations().current(), output)
            return dict(json.loads(path.read_text()))

    def state(self, branch: str = MAIN) -> TableState:
        """What a write to a branch needs to know."""
        return TableState(**json.loads(self.tables.state(self.java, branch)))

    @property
    def uuid(self) -> str:
        return self.state().uuid

    def base(self, branch: str) -> Base:
        """The base of a write that begins now."""
        return self.state(branch).base

    def head(self, branch: str) -> Any | None:
        """The newest snapshot of a branch, if there is one."""
        return self.java.currentSnapshot() if branch == MAIN else self.java.snapshot(branch)

    def look_back(self, since: Since) -> WriteIndex:
        """The writes in the history since then."""
        self.writes.extend(SnapshotList(self.session, self.java), since)
        return self.writes

    def transaction(self) -> Any:
        """A transaction on the metadata of the last refresh; raises `TableMoved` if others have committed since."""
        # Not on what is current now: another thread may have refreshed Iceberg's object since the history was searched.
        faults.point("history-searched")
        transaction = self.tables.begin(self.java, self._looked_at)
        if transaction is None:
            raise TableMoved
        return transaction

    def has_history_since(self, base: Base) -> bool:
        """Whether all commits since a state are still in the history; expiry and some catalogs remove old ones."""
        if base.sequence < 0:  # format v1 has no sequence numbers
            return base.snapshot_id is None or self.java.snapshot(base.snapshot_id) is not None
        # Sequence numbers have no gaps.
        last = int(self.java.operations().current().lastSequenceNumber())
        return self.look_back(Since(base.sequence, NEVER)).count_after(base.sequence) == last - base.sequence

    def lacks_file(self, error: Exception) -> bool:
        """Whether an error says that a file is missing that the current metadata refers to.

        If others have committed since the metadata was read, they may have removed the file with an old snapshot.
        """
        if not is_a(error, FILE_MISSING):
            return False
        read = str(self.java.operations().current().metadataFileLocation())
        self.refresh()
        return str(self.java.operations().current().metadataFileLocation()) == read

    def refers_to(self, buffer: str, branch: str) -> bool:
        """Whether a live file of a branch is in this buffer. Reads all manifests, so use it rarely."""
        name = buffer.rpartition("/")[2]
        scan = self.java.newScan()
        tasks = (scan if branch == MAIN else scan.useRef(branch)).planFiles()
        try:
            return any(f"/{name}/" in str(task.file().location()) for task in tasks.iterator())
        finally:
            tasks.close()

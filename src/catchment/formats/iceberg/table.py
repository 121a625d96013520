"""An Iceberg table through Iceberg's Java API, for forks, history checks and commits."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from catchment.commit import faults
from catchment.formats.iceberg.java import Jvm
from catchment.formats.iceberg.traits import FILE_MISSING
from catchment.formats.iceberg.write_index import NEVER, Since, WriteIndex
from catchment.jvm.causes import is_a
from catchment.store.writes import Base

MAIN = "main"


class TableMoved(Exception):
    """Somebody has committed to a table since it was looked at: look again."""


class LakeTable:
    """A table of a catalog. An object may be used by only one thread at a time."""

    def __init__(self, session: SparkSession, java: Any) -> None:
        self.session, self.jvm = session, Jvm.of(session)
        self.java = java
        self.writes = WriteIndex(session)

    @classmethod
    def load(cls, session: SparkSession, depot: str, namespace: str, name: str) -> LakeTable:
        """Load a table from its catalog."""
        jvm = Jvm.of(session)
        catalog = jvm.iceberg("spark.Spark3Util").loadIcebergCatalog(session._jsparkSession, depot)
        identifier = jvm.iceberg("catalog.TableIdentifier").parse(f"{namespace}.{name}")
        return cls(session, catalog.loadTable(identifier))

    def refresh(self) -> None:
        """Load what others have committed; reads the store only if there is something new."""
        self.java.refresh()

    def metadata(self) -> dict[str, Any]:
        """The current metadata, as JSON of the Iceberg table spec."""
        # Through a file: an answer of more than 8 kB from the JVM waits 40 ms for the network stack's own timer.
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "current.metadata.json"
            output = self.jvm.iceberg("Files").localOutput(str(path))
            self.jvm.iceberg("TableMetadataParser").overwrite(self.java.operations().current(), output)
            return dict(json.loads(path.read_text()))

    @property
    def uuid(self) -> str:
        return str(self.java.operations().current().uuid())

    @property
    def data_location(self) -> str:
        """Where the table keeps its data files."""
        default = f"{self.java.location().rstrip('/')}/data"
        util = self.jvm.iceberg("util.PropertyUtil")
        return str(util.propertyAsString(self.java.properties(), "write.data.path", default))

    def base(self, branch: str) -> Base:
        """The base of a write that begins now."""
        current, head = self.java.operations().current(), self.head(branch)
        # Format v1 has no sequence numbers, so every snapshot counts as later.
        sequence = int(current.lastSequenceNumber()) if int(current.formatVersion()) > 1 else -1
        snapshot_id = int(head.snapshotId()) if head is not None else None
        return Base(str(current.uuid()), int(current.currentSchemaId()), sequence, snapshot_id)

    def head(self, branch: str) -> Any | None:
        """The newest snapshot of a branch, if there is one."""
        return self.java.currentSnapshot() if branch == MAIN else self.java.snapshot(branch)

    def look_back(self, since: Since) -> WriteIndex:
        """The writes in the history since then."""
        self.writes.extend(self.java.operations().current().snapshots(), since)
        return self.writes

    def transaction(self) -> Any:
        """A transaction on the metadata that was looked at; raises `TableMoved` where others have committed since."""
        looked_at = self.java.operations().current()
        faults.point("history-searched")
        # Iceberg loads the table again here. On newer metadata, what was found in the old one proves nothing.
        transaction = self.java.newTransaction()
        if not _same(transaction.startMetadata(), looked_at):
            raise TableMoved
        return transaction

    def same_thread(self) -> Any:
        """An executor that runs tasks in the calling thread."""
        guava = "relocated.com.google.common.util.concurrent"
        return self.jvm.iceberg(f"{guava}.MoreExecutors").newDirectExecutorService()

    def has_history_since(self, base: Base) -> bool:
        """Whether all commits since a state are still in the history; expiry and some catalogs remove old ones."""
        if base.sequence < 0:  # format v1 has no sequence numbers
            return base.snapshot_id is None or self.java.snapshot(base.snapshot_id) is not None
        # Sequence numbers have no gaps.
        last = int(self.java.operations().current().lastSequenceNumber())
        return self.look_back(Since(base.sequence, NEVER)).count_after(base.sequence) == last - base.sequence

    def lacks_file(self, error: Exception) -> bool:
        """Whether an error says that a file is missing which the current metadata refers to.

        If others have committed since it was read, the file may be one that they have removed, with an old snapshot.
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


def _same(one: Any, other: Any) -> bool:
    """Whether two of Iceberg's objects are of the same metadata file."""
    place = one.metadataFileLocation()
    return bool(one.equals(other)) or (place is not None and place == other.metadataFileLocation())

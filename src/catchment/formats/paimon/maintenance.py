"""Maintenance of Paimon tables: compaction, and expiry of snapshots that nobody needs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timezone

from pyspark.sql import SparkSession

from catchment.commit.committed import Committed
from catchment.commit.leases import table_lease
from catchment.commit.listener import Listener
from catchment.commit.spark_progress import spark_progress
from catchment.commit.writer import Writer
from catchment.errors import JobError
from catchment.formats.model import Facts, MaintenanceResult, Needs
from catchment.formats.paimon.compaction import Compaction
from catchment.formats.paimon.health import health_of
from catchment.formats.paimon.snapshot_files import Snapshot
from catchment.formats.paimon.snapshots import read_back
from catchment.formats.paimon.table import BRANCH, Table, require_table
from catchment.plan.model import Dataset, Expire, Maintenance, Rewrite
from catchment.run_model import snapshot_name
from catchment.store.in_flight import CLOCKS_APART_SECONDS
from catchment.store.writes import Base, Entry
from catchment.table_health import TableHealth

DAY_MS = 24 * 60 * 60 * 1000
DEFAULT_AGE_MS = 5 * DAY_MS


@dataclass(frozen=True)
class MaintainedTable:
    """One table, with what others still need from it."""

    spark: SparkSession
    dataset: Dataset
    writer: Writer
    needs: Needs
    listener: Listener

    @property
    def table(self) -> Table:
        return require_table(self.spark, self.dataset)

    @property
    def branch(self) -> str:
        """Maintenance works on the table as a whole."""
        return BRANCH

    @property
    def base(self) -> Base:
        """The state of the table now."""
        return self.table.base()

    @property
    def write_only(self) -> bool:
        """Whether writers leave expiry to compaction: so says a property of the table."""
        return self.table.write_only

    def head(self) -> int | None:
        """The newest snapshot."""
        newest = self.table.newest()
        return newest.id if newest else None

    def find(self, write: Entry) -> Committed | JobError | None:
        """Nothing: maintenance leaves no mark, and is safe to repeat."""
        return None

    def perform(self, operation: Maintenance) -> MaintenanceResult:
        """Run one operation."""
        if isinstance(operation, Expire):
            return self._expire(operation)
        if isinstance(operation, Rewrite):
            return self._compact(operation)
        raise _not_supported(operation.kind)

    def preview(self, operation: Maintenance) -> MaintenanceResult:
        """Report what one operation would do."""
        if isinstance(operation, Expire):
            return MaintenanceResult(facts=self._choose(operation)[1])
        if isinstance(operation, Rewrite):
            return self._preview(operation)
        raise _not_supported(operation.kind)

    def health(self, small_file_bytes: int | None) -> TableHealth:
        """The files of each partition, and the runs that readers of a table with a key have to merge."""
        return health_of(self.table, self.dataset, small_file_bytes)

    def _lease(self) -> AbstractContextManager[None]:
        """The table's lease, which keeps others from committing."""
        progress = spark_progress(self.spark)
        return table_lease(self.writer.store, self.table.location, self.writer.owner, self.listener, progress)

    def _preview(self, operation: Rewrite) -> MaintenanceResult:
        """The files of each bucket of each partition, which a compaction merges into about one."""
        return MaintenanceResult(facts=self._compaction(operation).preview())

    def _compact(self, operation: Rewrite) -> MaintenanceResult:
        """Merge the files of each bucket."""
        return self._compaction(operation).run(self._lease)

    def _compaction(self, operation: Rewrite) -> Compaction:
        return Compaction.of(self.spark, self.dataset, self.listener, operation, self.writer.ledger.metastore)

    def _expire(self, operation: Expire) -> MaintenanceResult:
        """Expire the oldest snapshots, up to the first that is still needed."""
        with self._lease():
            gone, facts = self._choose(operation)
            if gone:
                expiry = self.table.java.newExpireSnapshots()
                expiry.expireUntil(gone[0].id, gone[-1].id + 1)
        return MaintenanceResult(len(gone), facts=facts)

    def _choose(self, operation: Expire) -> tuple[list[Snapshot], Facts]:
        """The snapshots that expire, oldest first, and the report."""
        if operation.snapshot_ids or operation.deletes:
            raise JobError(
                "Paimon expires the oldest snapshots first, one after the other",
                code="unsupported-option",
                hint="say how old a snapshot must be (--older-than), and neither which ones nor how many at once",
            )
        table = self.table
        newest = table.newest()
        known = list(reversed(read_back(self.spark, table.java, newest.id))) if newest else []
        before, least = operation.before, max(operation.retain_last, 1)
        if before is None:  # nobody says how old they must be, so what the table says of itself counts
            before = int(time.time() * 1000) - (table.retained_millis or DEFAULT_AGE_MS)
            least = max(least, table.least_retained)
        old = [each for each in known[:-least] if each.millis < before]
        followers = self.needs.followers({each.name: each.id for each in known})
        first = {**self._first_needed(known), "incremental": min((each.snapshot for each in followers), default=None)}
        kept = {
            reason: [snapshot_name(each.id) for each in old if number is not None and each.id >= number]
            for reason, number in first.items()
        }
        needed = min((number for number in first.values() if number is not None), default=None)
        gone = [each for each in old if needed is None or each.id < needed]
        facts = {
            "snapshots": [{"snapshot_id": snapshot_name(each.id), "committed_at": _iso(each.millis)} for each in gone],
            "kept": {reason: ids for reason, ids in kept.items() if ids},
            "followers": [each.facts() for each in followers if any(each.snapshot <= one.id for one in old)],
        }
        return gone, facts

    def _first_needed(self, known: list[Snapshot]) -> Mapping[str, int | None]:
        """The first snapshot that writes and readers need."""
        table = self.table
        waiting, readers = self.needs.writes(table.id), self.needs.readers_since()
        seen = None
        if readers is not None:
            since = (readers - CLOCKS_APART_SECONDS) * 1000
            seen = max((each.id for each in known if each.millis <= since), default=1)
        # The snapshots after the one that a write began from show whether it was published.
        began = None if waiting.sequence is None else waiting.sequence + 1
        return {
            "writes": min((began, *waiting.snapshots), default=None) if began else None,
            "readers": seen,
            "consumers": table.first_of_consumers(),
        }


def _iso(millis: int) -> str:
    return datetime.fromtimestamp(millis / 1000, tz=timezone.utc).isoformat(timespec="milliseconds")


def _not_supported(kind: str) -> JobError:
    return JobError(f"not supported yet: {kind} on paimon", code="unsupported-actions", hint="use Paimon's procedures")

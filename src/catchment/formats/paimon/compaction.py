"""Compaction of Paimon tables with Paimon's own procedure, one partition and one commit after the other.

Writers go on meanwhile: Paimon commits a compaction only if the files that it replaces still exist, and whichever
commits second checks again. Where the store accepts a second snapshot with one number, only the swap holds the table's
lease.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from catchment.commit.listener import Listener
from catchment.errors import CommitConflict, JobError
from catchment.formats.backoff import attempts
from catchment.formats.failures import from_spark
from catchment.formats.model import Facts, MaintenanceResult
from catchment.formats.paimon.health import target_size
from catchment.formats.paimon.inspection import DataFile, data_files
from catchment.formats.paimon.java import commits
from catchment.formats.paimon.snapshot_files import COMPACTION
from catchment.formats.paimon.sorting import sorting_of
from catchment.formats.paimon.table import CROSS_PARTITION, Table, require_table
from catchment.formats.partition_values import PartitionColumn, partition_condition, text_literal
from catchment.formats.rewrite_options import check_rewrite
from catchment.formats.swap_gate import Lease, leased_swaps
from catchment.plan.model import Dataset, Partition, Rewrite

MAX_ATTEMPTS = 10
LEAST_FILES = 2


@dataclass(frozen=True)
class Part:
    """The part of a table that one commit compacts."""

    condition: str | None
    """None for the whole table."""
    files: int = LEAST_FILES
    """How many small files become one."""


@dataclass(frozen=True)
class Compaction:
    """A compaction of one table."""

    spark: SparkSession
    dataset: Dataset
    listener: Listener
    operation: Rewrite
    table: Table
    user: str
    """The user name of its commits: Paimon commits sorted rows as an overwrite, which must not look like a rival's."""

    @classmethod
    def of(
        cls, spark: SparkSession, dataset: Dataset, listener: Listener, operation: Rewrite, metastore: str
    ) -> Compaction:
        """A compaction; raises if the request is not valid."""
        check_rewrite(dataset, operation, sorts=True, filters=True)
        sorting_of(dataset, operation)  # refuses an order that Paimon does not have
        table = require_table(spark, dataset)
        if table.bucket_mode == CROSS_PARTITION:
            raise JobError(
                f"Paimon cannot compact {dataset.address} on Spark: its primary key lacks a partition column",
                code="unsupported-actions",
                hint="compact it with Flink, or give it a key with all columns that it is partitioned by",
            )
        made = cls(spark, dataset, listener, operation, table, COMPACTION.format(metastore))
        made._condition(*operation.partitions)  # refuses a wrong partition before anything is done
        return made

    def parts(self) -> list[Part]:
        """The parts to compact: one for each requested partition.

        Paimon merges small files of a table without a key only if there are many. So each partition is compacted by
        itself, with the number of its small files as the limit.
        """
        if self.table.keys or self.operation.order:
            each = [self._condition(partition) for partition in self.operation.partitions]
            return [Part(condition) for condition in each or [self._condition()]]
        limit = target_size(self.table) // 10 * 7
        small = ([file for file in files if file.bytes < limit] for files in self._chosen())
        return [
            Part(self._condition(*_partition(files[0])), len(files)) for files in small if len(files) >= LEAST_FILES
        ]

    def _condition(self, *partitions: Partition) -> str | None:
        """The requested condition, combined with those of the partitions."""
        given = self.operation.condition.sql if self.operation.condition else None
        if not partitions:
            return given
        types = {field.name: field.dataType.simpleString() for field in self.table.schema.fields}
        columns = [PartitionColumn(name, types[name]) for name in self.table.partitions]
        chosen = partition_condition(self.dataset, columns, partitions)
        return f"({given}) AND ({chosen})" if given else chosen

    def preview(self) -> Facts:
        """The files of each bucket of the chosen partitions, which a compaction merges into about one."""
        if self.operation.condition:
            self.listener.warn(f"{self.dataset.address}: all partitions are shown; the condition is applied later")
        parts: list[dict[str, Any]] = [
            {
                "partition": "/".join((*map(str, _partition(files[0])), files[0].bucket)),
                "files": len(files),
                "bytes": sum(file.bytes for file in files),
                "expected_files": 1,
            }
            for files in self._chosen()
            if len(files) > 1
        ]
        counts = {f"rewritten_{what}": sum(part[what] for part in parts) for what in ("files", "bytes")}
        return {**counts, "expected_files": len(parts), "partitions": parts}

    def run(self, lease: Lease) -> MaintenanceResult:
        """Compact; `lease` keeps others from committing, where that is needed."""
        rewritten = added = size = new = 0
        for part in self.parts():
            self.listener.check()
            gone, came = self._compact(part, lease)
            rewritten, size = rewritten + len(gone), size + sum(gone)
            added, new = added + len(came), new + sum(came)
        facts = {"rewritten_files": rewritten, "added_files": added, "rewritten_bytes": size}
        return MaintenanceResult(added, new, facts=facts)

    def _compact(self, part: Part, lease: Lease) -> tuple[list[int], list[int]]:
        """Compact once; returns the sizes of the files that are gone and of the new ones."""
        with lease() if self._needs_lease() else nullcontext():
            before = {file.path: file.bytes for file in data_files(self.table)}
            self._call_again(part, lease)
            after = {file.path: file for file in data_files(self.table)}
        gone = [size for path, size in before.items() if path not in after]
        # Others may have written meanwhile. Their files have level 0, which a compaction of keyed tables never writes.
        came = [
            file.bytes for path, file in after.items() if path not in before and (file.level or not self.table.keys)
        ]
        return gone, came if gone else []

    def _needs_lease(self) -> bool:
        """Whether others must not commit meanwhile: sorted rows replace whole partitions."""
        return self.operation.order is not None

    def _guarded(self, part: Part, lease: Lease) -> AbstractContextManager[None]:
        """Prepare tables for the procedure; swaps hold the lease if the store accepts two snapshots with one number."""
        if self._needs_lease() or not self.table.is_unguarded:
            return guarded(self.spark, self.dataset.depot, part.files, self.user)
        return gated(self.spark, self.dataset.depot, part.files, self.user, self.table.location, lease)

    def _call_again(self, part: Part, lease: Lease) -> None:
        """Call the procedure, and again if others have replaced files that it was compacting."""
        for number in attempts(MAX_ATTEMPTS):
            newest = self.table.newest()
            try:
                with self._guarded(part, lease):
                    self._call(part.condition)
                return
            except Exception as error:
                if self.table.newest() == newest:
                    where = self.operation.condition.where if self.operation.condition else None
                    raise from_spark(error, otherwise="maintenance-failed").at(where) from error
                if number == MAX_ATTEMPTS:
                    raise _overtaken(self.dataset, number) from error
            self.listener.check()

    def _call(self, condition: str | None) -> None:
        given = {
            "table": f"{self.dataset.namespace}.{self.dataset.table}",
            "where": condition,
            **sorting_of(self.dataset, self.operation),
        }
        arguments = ", ".join(f"{key} => {text_literal(value)}" for key, value in given.items() if value)
        self.spark.sql(f"CALL `{self.dataset.depot}`.sys.compact({arguments})")

    def _chosen(self) -> list[list[DataFile]]:
        """The data files of the chosen partitions, bucket by bucket."""
        wanted = [dict(partition.values) for partition in self.operation.partitions]
        found = defaultdict[tuple[str | None, ...], list[DataFile]](list)
        for file in data_files(self.table):
            if not wanted or dict(file.partition) in wanted:
                found[(*file.partition.values(), file.bucket)].append(file)
        return list(found.values())


def _partition(file: DataFile) -> list[Partition]:
    return [Partition(file.partition)] if file.partition else []


@contextmanager
def gated(spark: SparkSession, depot: str, files: int, user: str, place: str, lease: Lease) -> Iterator[None]:
    """The same as `guarded`, and each swap holds the lease."""
    with leased_swaps(spark, place, lease), guarded(spark, depot, files, user, place):
        yield


@contextmanager
def guarded(spark: SparkSession, depot: str, files: int, user: str, gate: str | None = None) -> Iterator[None]:
    """Make the session's catalog return tables whose commits never replace a snapshot and never expire one."""
    catalog = spark._jsparkSession.sessionState().catalogManager().catalog(depot)
    before = commits(spark).guard(catalog, files, user, gate)
    try:
        yield
    finally:
        commits(spark).restore(catalog, before)


def _overtaken(dataset: Dataset, number: int) -> CommitConflict:
    return CommitConflict(
        f"{dataset.address} was changed by others during each of {number} attempts",
        code="maintenance-overtaken",
        hint="try again when fewer jobs overwrite it, or compact single partitions (--partition)",
    )

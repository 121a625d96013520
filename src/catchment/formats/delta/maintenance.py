"""Maintenance of Delta tables: compaction with Delta's own OPTIMIZE, which commits a version that changes no row.

OPTIMIZE rewrites files with deletion vectors together with others, and never a single one. What it leaves is rewritten
by REORG, which costs more: it reads the footers of all files, and rewrites those with dropped columns too.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

from pyspark.sql import SparkSession

from catchment.commit.committed import Committed
from catchment.commit.leases import table_lease
from catchment.commit.listener import Listener
from catchment.commit.spark_progress import spark_progress
from catchment.commit.writer import Writer
from catchment.errors import CommitConflict, JobError
from catchment.formats.backoff import MAX_ATTEMPTS, attempts
from catchment.formats.delta import log_store
from catchment.formats.delta.conflicts import kind_of
from catchment.formats.delta.file_health import size_limits
from catchment.formats.delta.health import has_vectors, health_of, partition_columns, sizes_by_partition
from catchment.formats.delta.log import BRANCH, Log, require_head
from catchment.formats.delta.session_settings import set_for_now
from catchment.formats.delta.transaction import needs_table_lease
from catchment.formats.delta.vacuum import Vacuum
from catchment.formats.failures import from_spark
from catchment.formats.model import MaintenanceResult, Needs
from catchment.formats.partition_values import check_partitions, partition_condition
from catchment.formats.rewrite_options import check_rewrite, zorder_columns
from catchment.formats.swap_gate import leased_swaps
from catchment.plan.model import Dataset, Expire, Maintenance, Rewrite
from catchment.store.writes import Base, Entry
from catchment.table_health import TableHealth

SETTINGS = "spark.databricks.delta.optimize."
TARGET = ("target-file-size-bytes", f"{SETTINGS}maxFileSize")
"""How large files become: the rewrite property, and the setting of OPTIMIZE."""
SMALLEST = ("min-file-size-bytes", f"{SETTINGS}minFileSize")
"""Smaller files are merged."""
VECTORS = "delete-file-threshold"
"""The rewrite property that has deletion vectors applied, whatever the size of their files."""
ANY_VECTOR = {f"{SETTINGS}maxDeletedRowsRatio": "0"}
"""By default, OPTIMIZE leaves a file alone that has lost less than a twentieth of its rows."""
READ_ALL = {"spark.sql.files.ignoreCorruptFiles": "false", "spark.sql.files.ignoreMissingFiles": "false"}
"""Whatever the engine's settings say: a version without a file that was not read would have lost its rows."""
WRITER_WAIT_SECONDS = 60.0
"""How long a compaction waits for overwrites and merges, which it would force to start again."""
LOOK_SECONDS = 0.25
REPLACING = frozenset({"overwrite", "overwrite-partitions", "merge"})


@dataclass(frozen=True)
class MaintainedTable:
    """One table."""

    spark: SparkSession
    dataset: Dataset
    writer: Writer
    needs: Needs
    listener: Listener

    @property
    def log(self) -> Log:
        return Log(self.spark, str(self.dataset.path))

    @property
    def branch(self) -> str:
        """A table has only one."""
        return BRANCH

    @property
    def base(self) -> Base:
        """The table's version now."""
        return require_head(self.spark, self.dataset).base

    @property
    def write_only(self) -> bool:
        """Nobody removes old files but those who are asked to."""
        return False

    def head(self) -> int | None:
        """The newest version."""
        return require_head(self.spark, self.dataset).version

    def find(self, write: Entry) -> Committed | JobError | None:
        """The commit of a write in the table's log."""
        return self.log.find_commit(write)

    def perform(self, operation: Maintenance) -> MaintenanceResult:
        """Remove old files, or compact the table, one partition after the other if partitions are named."""
        if isinstance(operation, Expire):
            return self._vacuum(operation).run()
        rewrite = self._checked(operation)
        sums = {"rewritten_files": 0, "added_files": 0, "rewritten_bytes": 0}
        for metrics in self._compact(rewrite):
            sums["rewritten_files"] += int(metrics.numFilesRemoved)
            sums["added_files"] += int(metrics.numFilesAdded)
            sums["rewritten_bytes"] += int(metrics.filesRemoved.totalSize or 0)
        return MaintenanceResult(sums["added_files"], sums["rewritten_bytes"], facts=sums)

    def preview(self, operation: Maintenance) -> MaintenanceResult:
        """Report what would be removed, or the partitions whose small files a compaction would merge."""
        if isinstance(operation, Expire):
            return MaintenanceResult(facts=self._vacuum(operation).facts())
        rewrite = self._checked(operation)
        if rewrite.condition:
            self.listener.warn(f"{self.dataset.address}: all partitions are shown; the condition is applied later")
        columns = partition_columns(require_head(self.spark, self.dataset))
        check_partitions(self.dataset, [column.name for column in columns], rewrite.partitions)
        wanted = [dict(each.values) for each in rewrite.partitions]
        target, limit = self._sizes(rewrite)
        vectors = VECTORS in rewrite.properties
        parts: list[dict[str, Any]] = [
            {
                "partition": "/".join(f"{name}={value}" for name, value in each.partition.items()),
                "files": each.small_files,
                "bytes": each.small_bytes,
                "expected_files": -(-each.small_bytes // target),
            }
            for each in sizes_by_partition(self.spark, require_head(self.spark, self.dataset), limit, vectors=vectors)
            if each.partition is not None
            and (each.small_files > 1 or (vectors and each.delete_files))
            and (not wanted or dict(each.partition) in wanted)
        ]
        counts = {f"rewritten_{what}": sum(part[what] for part in parts) for what in ("files", "bytes")}
        expected = sum(part["expected_files"] for part in parts)
        return MaintenanceResult(facts={**counts, "expected_files": expected, "partitions": parts})

    def health(self, small_file_bytes: int | None) -> TableHealth:
        """The live files by partition."""
        recorded = self.writer.store.activity.last_compaction(self.dataset.address)
        return health_of(self.log, self.dataset, require_head(self.spark, self.dataset), small_file_bytes, recorded)

    def _vacuum(self, operation: Expire) -> Vacuum:
        head = require_head(self.spark, self.dataset)
        return Vacuum(self.spark, self.dataset, self.needs, self.listener, operation, self.log, head)

    def _checked(self, operation: Maintenance) -> Rewrite:
        if not isinstance(operation, Rewrite):
            raise JobError(
                f"not supported yet: {operation.kind} on delta", code="unsupported-actions", hint="use Delta's SQL"
            )
        check_rewrite(self.dataset, operation, sorts=True, filters=True)
        if operation.strategy == "sort" and zorder_columns(operation.order) is None:
            raise JobError(
                f"OPTIMIZE sorts {self.dataset.address} along a z-order only",
                code="unsupported-option",
                hint="write the order as zorder(a, b)",
            )
        if int(operation.properties.get(VECTORS, "1")) > 1:
            raise JobError(
                f"a data file of {self.dataset.address} has at most one deletion vector, so {VECTORS} is never reached",
                code="threshold-never-met",
                hint="write 1, or leave the property out",
            )
        return operation

    def _sizes(self, operation: Rewrite) -> tuple[int, int]:
        """How large files become, and which ones are merged: as asked, as the engine is set, or as the table says.

        OPTIMIZE itself does not ask the table.
        """
        target, smallest = (
            operation.properties.get(asked) or self.spark.conf.get(setting, None)
            for asked, setting in (TARGET, SMALLEST)
        )
        size = int(target) if target else size_limits(require_head(self.spark, self.dataset).properties, None)[0]
        return size, int(smallest) if smallest else size

    def _conditions(self, operation: Rewrite) -> tuple[str | None, ...]:
        """One condition per commit; None for the whole table."""
        given = operation.condition.sql if operation.condition else None
        columns = partition_columns(require_head(self.spark, self.dataset))
        each = [partition_condition(self.dataset, columns, [partition]) for partition in operation.partitions]
        return tuple(f"({given}) AND {one}" if given else one for one in each) or (given,)

    def _compact(self, operation: Rewrite) -> Iterator[Any]:
        """Run the statements of a compaction, each with a commit of its own; returns Delta's metrics of each."""
        along, settings = zorder_columns(operation.order), self._settings(operation)
        sorting = f" ZORDER BY ({along})" if along else ""
        for condition in self._conditions(operation):
            where = f" WHERE {condition}" if condition else ""
            yield self._run(operation, f"OPTIMIZE {self.dataset.identifier}{where}{sorting}", settings)
            if VECTORS in operation.properties and self._has_vectors(condition):
                yield self._run(operation, f"REORG TABLE {self.dataset.identifier}{where} APPLY (PURGE)", settings)

    def _has_vectors(self, condition: str | None) -> bool:
        return has_vectors(self.spark, require_head(self.spark, self.dataset), condition)

    def _settings(self, operation: Rewrite) -> dict[str, str]:
        sizes = dict(zip((TARGET[1], SMALLEST[1]), map(str, self._sizes(operation)), strict=True))
        return {**READ_ALL, **sizes, **(ANY_VECTOR if VECTORS in operation.properties else {})}

    def _run(self, operation: Rewrite, statement: str, settings: Mapping[str, str]) -> Any:
        """Run a statement, and again after each conflict; overwrites and merges under way go first."""
        for number in attempts():
            self.listener.check()
            self._wait_for_writers()
            try:
                with self._leased(), set_for_now(self.spark, settings):
                    [row] = self.spark.sql(statement).collect()
                    return row.metrics
            except Exception as error:
                if kind_of(error) is None:
                    where = operation.condition.where if operation.condition else None
                    raise from_spark(error, otherwise="maintenance-failed").at(where) from error
                if number == MAX_ATTEMPTS:
                    raise _overtaken(self.dataset, number) from error
        raise AssertionError("the last attempt returns or raises")

    def _leased(self) -> AbstractContextManager[None]:
        """Hold the table's lease for the commit, where two commits could both succeed and one be lost.

        With a log store other than ours, it is unknown when OPTIMIZE commits, so it holds the lease from the start.
        """
        if not needs_table_lease(self.spark, self.log.path):
            return nullcontext()
        here = (self.writer.store, self.log.path, self.writer.owner, self.listener, spark_progress(self.spark))
        gate = log_store.gate_of(self.spark, self.log.path)
        return leased_swaps(self.spark, gate, partial(table_lease, *here)) if gate else table_lease(*here)

    def _wait_for_writers(self) -> None:
        """Wait for overwrites and merges under way, which our commit would force to start again."""
        deadline = time.monotonic() + WRITER_WAIT_SECONDS
        while self._is_replaced() and time.monotonic() < deadline:
            self.listener.check()
            time.sleep(LOOK_SECONDS)

    def _is_replaced(self) -> bool:
        active = self.writer.store.activity.writes()
        return any(
            write.target == self.dataset.address and write.mode in REPLACING and write.state == "open" and write.alive
            for write in active
        )


def _overtaken(dataset: Dataset, number: int) -> CommitConflict:
    return CommitConflict(
        f"{dataset.address} was changed by others during each of {number} attempts",
        code="maintenance-overtaken",
        hint="try again when fewer jobs overwrite it, or compact single partitions (--partition)",
    )

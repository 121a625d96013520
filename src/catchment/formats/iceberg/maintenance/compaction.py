"""Compaction: rewrites many small data files or manifests into few large ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from catchment.errors import CommitConflict, JobError
from catchment.formats.backoff import MAX_ATTEMPTS, attempts
from catchment.formats.failures import first_line, from_spark
from catchment.formats.iceberg.catalogs import EXCEPTIONS
from catchment.formats.iceberg.java import Jvm
from catchment.formats.iceberg.maintenance.model import MaintainedTable
from catchment.formats.iceberg.maintenance.partition_conditions import condition_of
from catchment.formats.iceberg.maintenance.procedures import call
from catchment.formats.iceberg.maintenance.retention import check_metadata_kept
from catchment.formats.iceberg.row_changes import CONFLICT_ERRORS
from catchment.formats.model import MaintenanceResult
from catchment.jvm.causes import causes, is_a, stack_trace
from catchment.plan.model import Clause, Rewrite, RewriteManifests

ROW_CHANGE_WAIT_SECONDS = 60.0
"""How long a compaction waits for row-level changes, which it would force to start again."""
LOOK_SECONDS = 0.25
VALIDATION = f"{EXCEPTIONS}ValidationException"


def rewrite_files(maintained: MaintainedTable, operation: Rewrite) -> MaintenanceResult:
    """Rewrite data files, those of the chosen partitions if some are named."""
    condition = condition_of(maintained, operation)
    sorting = {"strategy": operation.strategy, "sort_order": operation.order} if operation.strategy == "sort" else {}

    def attempt() -> MaintenanceResult:
        done = call(
            maintained.spark,
            maintained.dataset,
            "rewrite_data_files",
            **sorting,
            where=condition,
            options=dict(operation.properties) or None,
        ).asDict()
        facts = {
            "rewritten_files": int(done["rewritten_data_files_count"]),
            "added_files": int(done["added_data_files_count"]),
            "rewritten_bytes": int(done["rewritten_bytes_count"]),
            "failed_files": int(done["failed_data_files_count"]),
        }
        if facts["failed_files"]:
            maintained.listener.warn(
                f"{maintained.dataset.address}: {facts['failed_files']} files were not rewritten, "
                "because others changed them first"
            )
        return MaintenanceResult(facts["added_files"], facts["rewritten_bytes"], facts=facts)

    try:
        return retry_conflicts(maintained, attempt)
    except Exception as error:
        if operation.condition is None or isinstance(error, CommitConflict):
            raise
        raise from_spark(error, otherwise="maintenance-failed").at(operation.condition.where) from error


def rewrite_manifests(maintained: MaintainedTable, operation: RewriteManifests) -> MaintenanceResult:
    """Rewrite manifests."""

    def attempt() -> MaintenanceResult:
        done = call(maintained.spark, maintained.dataset, "rewrite_manifests", use_caching=operation.caching)
        facts = {
            "rewritten_manifests": int(done["rewritten_manifests_count"]),
            "added_manifests": int(done["added_manifests_count"]),
        }
        return MaintenanceResult(facts["added_manifests"], facts=facts)

    return retry_conflicts(maintained, attempt)


def retry_conflicts(maintained: MaintainedTable, attempt: Callable[[], MaintenanceResult]) -> MaintenanceResult:
    """Run an operation, again after each conflict; row-level changes under way go first."""
    for number in attempts():
        _wait_for_row_changes(maintained)
        before = maintained.head()
        try:
            return attempt()
        except Exception as error:
            if not is_a(error, *CONFLICT_ERRORS):
                raise
            # Iceberg uses the same exception for a conflict and for a request that cannot be fulfilled.
            if is_a(error, VALIDATION) and maintained.head() == before:
                raise _refused(error) from error
            if number == MAX_ATTEMPTS:
                raise _conflict_error(maintained, number) from error
        maintained.listener.check()
    raise AssertionError("the last attempt returns or raises")


def _wait_for_row_changes(maintained: MaintainedTable) -> None:
    """Wait for a row-level change under way, which would otherwise have to start again."""
    deadline = time.monotonic() + ROW_CHANGE_WAIT_SECONDS
    while maintained.writer.store.leases.holder(f"rows/{maintained.dataset.address}") and time.monotonic() < deadline:
        maintained.listener.check()
        time.sleep(LOOK_SECONDS)


def _refused(error: Exception) -> JobError:
    message = first_line(next(causes(error)))
    hint = "nothing was changed; `catchment table show` describes the table"
    return JobError(message, code="maintenance-failed", hint=hint, detail=stack_trace(error))


def _conflict_error(maintained: MaintainedTable, number: int) -> CommitConflict:
    return CommitConflict(
        f"{maintained.dataset.address} was changed by others during each of {number} attempts",
        code="maintenance-overtaken",
        hint="try again when fewer jobs write to it; limit a rewrite with `where` or `partial-progress.enabled: true`",
    )


CONVERTER = "org.apache.spark.sql.execution.datasources.SparkExpressionConverter"
INVALID = f"{EXCEPTIONS}ValidationException"
NOTHING = "false"
"""A condition that no row meets."""
MANIFEST_SIZE, MANIFEST_SIZE_DEFAULT = "commit.manifest.target-size-bytes", 8 * 1024 * 1024


def preview_files(maintained: MaintainedTable, operation: Rewrite) -> MaintenanceResult:
    """Report which data files a rewrite would rewrite, by partition."""
    check_metadata_kept(maintained)
    _check(maintained, operation)
    maintained.table.refresh()
    groups = list(_groups(maintained, operation, condition_of(maintained, operation)))
    return MaintenanceResult(
        facts={
            "rewritten_files": sum(group["files"] for group in groups),
            "rewritten_bytes": sum(group["bytes"] for group in groups),
            "expected_files": sum(group["expected_files"] for group in groups),
            "partitions": groups,
        }
    )


def preview_manifests(maintained: MaintainedTable) -> MaintenanceResult:
    """Report which manifests a rewrite would rewrite: those of the current partition spec, unless there is only one."""
    check_metadata_kept(maintained)
    maintained.table.refresh()
    head, files = maintained.table.currentSnapshot(), maintained.table.io()
    kinds = (head.dataManifests(files), head.deleteManifests(files)) if head is not None else ()
    target = int(maintained.table.properties().get(MANIFEST_SIZE) or MANIFEST_SIZE_DEFAULT)
    count = size = expected = 0
    for lengths in (_lengths(maintained, manifests) for manifests in kinds):
        wanted = -(-sum(lengths) // target)
        if lengths and (wanted, len(lengths)) != (1, 1):
            count, size, expected = count + len(lengths), size + sum(lengths), expected + wanted
    return MaintenanceResult(
        facts={"rewritten_manifests": count, "rewritten_bytes": size, "expected_manifests": expected}
    )


def _check(maintained: MaintainedTable, operation: Rewrite) -> None:
    """Run the rewrite on no file, so that it checks the order, the strategy and the properties."""
    sorting = {"strategy": operation.strategy, "sort_order": operation.order} if operation.strategy == "sort" else {}
    properties = dict(operation.properties) or None
    try:
        call(maintained.spark, maintained.dataset, "rewrite_data_files", **sorting, where=NOTHING, options=properties)
    except Exception as error:
        refused = next((cause for cause in causes(error) if INVALID in cause.classes), None)
        if refused is None:
            raise
        hint = "check the order of the rewrite; `catchment table show` lists the columns"
        raise JobError(first_line(refused), code="maintenance-failed", hint=hint, detail=stack_trace(error)) from error


def _groups(maintained: MaintainedTable, operation: Rewrite, condition: str | None) -> Iterator[dict[str, Any]]:
    jvm, spec = Jvm.of(maintained.spark), maintained.table.spec()
    planner = jvm.iceberg("actions.BinPackRewriteFilePlanner")(
        maintained.table, _filter(maintained, operation.condition, condition)
    )
    planner.init(dict(operation.properties))
    found: dict[str | None, dict[str, Any]] = {}
    for group in planner.plan().groups().iterator():
        # Files of earlier partition specs are reported together: they may have rows of any partition.
        of_today = group.fileScanTasks()[0].file().specId() == spec.specId()
        name = str(spec.partitionToPath(group.info().partition())) if of_today else None
        part = found.setdefault(name, {"partition": name, "files": 0, "bytes": 0, "expected_files": 0})
        part["files"] += int(group.inputFileNum())
        part["bytes"] += int(group.inputFilesSizeInBytes())
        part["expected_files"] += int(group.expectedOutputFiles())
    yield from sorted(found.values(), key=lambda part: (part["partition"] is None, part["partition"]))


def _filter(maintained: MaintainedTable, clause: Clause | None, condition: str | None) -> Any:
    jvm = Jvm.of(maintained.spark)
    if condition is None:
        return jvm.iceberg("expressions.Expressions").alwaysTrue()
    converter, session = jvm(CONVERTER), maintained.spark._jsparkSession
    try:
        resolved = converter.collectResolvedSparkExpression(session, maintained.dataset.identifier, condition)
        return converter.convertToIcebergExpression(resolved)
    except Exception as error:
        raise from_spark(error, otherwise="maintenance-failed").at(clause.where if clause else None) from error


def _lengths(maintained: MaintainedTable, manifests: Any) -> list[int]:
    newest = maintained.table.spec().specId()
    return [int(manifest.length()) for manifest in manifests if manifest.partitionSpecId() == newest]

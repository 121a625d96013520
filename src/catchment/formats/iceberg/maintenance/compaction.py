"""Compaction: many small files become few large ones, in the table's data or in its metadata."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from catchment.errors import CommitConflict, JobError
from catchment.formats.backoff import MOST_ATTEMPTS, attempts
from catchment.formats.failures import first_line, from_spark
from catchment.formats.iceberg.catalogs import EXCEPTIONS
from catchment.formats.iceberg.java import Jvm
from catchment.formats.iceberg.maintenance.model import MaintainedTable
from catchment.formats.iceberg.maintenance.procedures import call
from catchment.formats.iceberg.maintenance.retention import require_kept
from catchment.formats.iceberg.row_changes import OVERTAKEN
from catchment.formats.model import MaintenanceResult
from catchment.jvm.causes import causes, is_a, stack_trace
from catchment.plan.model import Clause, Rewrite, RewriteManifests

COURTESY_SECONDS = 60.0
"""How long a compaction lets changes of rows go first, which it would force to begin anew."""
LOOK_SECONDS = 0.25
VALIDATION = f"{EXCEPTIONS}ValidationException"


def rewrite_files(maintained: MaintainedTable, operation: Rewrite) -> MaintenanceResult:
    """Write data files anew."""
    condition = operation.condition.sql if operation.condition else None
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
                f"{maintained.dataset.address}: others were first at {facts['failed_files']} files, "
                "which stay as they are"
            )
        return MaintenanceResult(facts["added_files"], facts["rewritten_bytes"], facts=facts)

    try:
        return unhurried(maintained, attempt)
    except Exception as error:
        if operation.condition is None or isinstance(error, CommitConflict):
            raise
        raise from_spark(error, otherwise="maintenance-failed").at(operation.condition.where) from error


def rewrite_manifests(maintained: MaintainedTable, operation: RewriteManifests) -> MaintenanceResult:
    """Write manifests anew."""

    def attempt() -> MaintenanceResult:
        done = call(maintained.spark, maintained.dataset, "rewrite_manifests", use_caching=operation.caching)
        facts = {
            "rewritten_manifests": int(done["rewritten_manifests_count"]),
            "added_manifests": int(done["added_manifests_count"]),
        }
        return MaintenanceResult(facts["added_manifests"], facts=facts)

    return unhurried(maintained, attempt)


def unhurried(maintained: MaintainedTable, attempt: Callable[[], MaintenanceResult]) -> MaintenanceResult:
    """Try until it succeeds; whoever writes goes first, and what a writer has changed is looked at anew."""
    for number in attempts():
        _let_pass(maintained)
        before = maintained.head()
        try:
            return attempt()
        except Exception as error:
            if not is_a(error, *OVERTAKEN):
                raise
            # Iceberg says with the same exception that something was changed and that something is not there.
            if is_a(error, VALIDATION) and maintained.head() == before:
                raise _refused(error) from error
            if number == MOST_ATTEMPTS:
                raise _overtaken(maintained, number) from error
        maintained.listener.check()
    raise AssertionError("the last attempt returns or raises")


def _let_pass(maintained: MaintainedTable) -> None:
    """Wait while rows are being changed: that statement would have to be evaluated again."""
    deadline = time.monotonic() + COURTESY_SECONDS
    while maintained.writer.store.leases.holder(f"rows/{maintained.dataset.address}") and time.monotonic() < deadline:
        maintained.listener.check()
        time.sleep(LOOK_SECONDS)


def _refused(error: Exception) -> JobError:
    message = first_line(next(causes(error)))
    hint = "nothing was changed; `catchment table show` tells what the table has"
    return JobError(message, code="maintenance-failed", hint=hint, detail=stack_trace(error))


def _overtaken(maintained: MaintainedTable, number: int) -> CommitConflict:
    return CommitConflict(
        f"{maintained.dataset.address} was changed by others during each of {number} attempts",
        code="maintenance-overtaken",
        hint="try again when fewer jobs write to it; for a rewrite, `where` or `partial-progress.enabled: true` help",
    )


CONVERTER = "org.apache.spark.sql.execution.datasources.SparkExpressionConverter"
INVALID = f"{EXCEPTIONS}ValidationException"
NOTHING = "false"
"""A condition that no file meets."""
MANIFEST_SIZE, MANIFEST_SIZE_DEFAULT = "commit.manifest.target-size-bytes", 8 * 1024 * 1024


def look_at_files(maintained: MaintainedTable, operation: Rewrite) -> MaintenanceResult:
    """Which data files a rewrite would write anew, partition by partition."""
    require_kept(maintained)
    _check(maintained, operation)
    maintained.table.refresh()
    groups = list(_groups(maintained, operation))
    return MaintenanceResult(
        facts={
            "rewritten_files": sum(group["files"] for group in groups),
            "rewritten_bytes": sum(group["bytes"] for group in groups),
            "expected_files": sum(group["expected_files"] for group in groups),
            "partitions": groups,
        }
    )


def look_at_manifests(maintained: MaintainedTable) -> MaintenanceResult:
    """Which manifests a rewrite would write anew: those of the table's newest partitioning, unless one is enough."""
    require_kept(maintained)
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
    """The rewrite itself, of no file: an order, a strategy or a property that it refuses is refused here too."""
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


def _groups(maintained: MaintainedTable, operation: Rewrite) -> Iterator[dict[str, Any]]:
    jvm, spec = Jvm.of(maintained.spark), maintained.table.spec()
    planner = jvm.iceberg("actions.BinPackRewriteFilePlanner")(
        maintained.table, _filter(maintained, operation.condition)
    )
    planner.init(dict(operation.properties))
    found: dict[str | None, dict[str, Any]] = {}
    for group in planner.plan().groups().iterator():
        # Files of an earlier partitioning are taken together: they may hold rows of any partition.
        of_today = group.fileScanTasks()[0].file().specId() == spec.specId()
        name = str(spec.partitionToPath(group.info().partition())) if of_today else None
        part = found.setdefault(name, {"partition": name, "files": 0, "bytes": 0, "expected_files": 0})
        part["files"] += int(group.inputFileNum())
        part["bytes"] += int(group.inputFilesSizeInBytes())
        part["expected_files"] += int(group.expectedOutputFiles())
    yield from sorted(found.values(), key=lambda part: (part["partition"] is None, part["partition"]))


def _filter(maintained: MaintainedTable, condition: Clause | None) -> Any:
    jvm = Jvm.of(maintained.spark)
    if condition is None:
        return jvm.iceberg("expressions.Expressions").alwaysTrue()
    converter, session = jvm(CONVERTER), maintained.spark._jsparkSession
    try:
        resolved = converter.collectResolvedSparkExpression(session, maintained.dataset.identifier, condition.sql)
        return converter.convertToIcebergExpression(resolved)
    except Exception as error:
        raise from_spark(error, otherwise="maintenance-failed").at(condition.where) from error


def _lengths(maintained: MaintainedTable, manifests: Any) -> list[int]:
    newest = maintained.table.spec().specId()
    return [int(manifest.length()) for manifest in manifests if manifest.partitionSpecId() == newest]

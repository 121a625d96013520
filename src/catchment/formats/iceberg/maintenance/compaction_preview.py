"""What a compaction would rewrite, without rewriting anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from catchment.errors import JobError
from catchment.formats.failures import first_line, from_spark
from catchment.formats.iceberg.catalogs import EXCEPTIONS
from catchment.formats.iceberg.java import Jvm
from catchment.formats.iceberg.maintenance.model import MaintainedTable
from catchment.formats.iceberg.maintenance.partition_conditions import condition_of
from catchment.formats.iceberg.maintenance.procedures import call
from catchment.formats.iceberg.maintenance.retention import check_metadata_kept
from catchment.formats.iceberg.maintenance.rewrite_parts import GROUP_FILES, bounded, may_be_split
from catchment.formats.model import MaintenanceResult
from catchment.jvm.causes import causes, stack_trace
from catchment.plan.model import Clause, Rewrite

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
    groups = list(_by_partition(maintained, operation))
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


def planned_groups(
    maintained: MaintainedTable, operation: Rewrite, condition: str | None, properties: Mapping[str, str]
) -> Iterator[Any]:
    """The groups of files that a rewrite with these properties would rewrite."""
    planner = _planner(maintained, file_filter(maintained, operation.condition, condition))
    planner.init(dict(properties))
    yield from planner.plan().groups().iterator()


def bounded_properties(maintained: MaintainedTable, operation: Rewrite) -> Mapping[str, str]:
    """The properties of a rewrite, with limits to its groups if it may be committed in parts."""
    if not may_be_split(operation):
        return operation.properties
    known = _planner(maintained, file_filter(maintained, None, None)).validOptions()
    return bounded(operation.properties, by_files=bool(known.contains(GROUP_FILES)))


def _planner(maintained: MaintainedTable, chosen: Any) -> Any:
    return Jvm.of(maintained.spark).iceberg("actions.BinPackRewriteFilePlanner")(maintained.table, chosen)


def _by_partition(maintained: MaintainedTable, operation: Rewrite) -> Iterator[dict[str, Any]]:
    spec, condition = maintained.table.spec(), condition_of(maintained, operation)
    properties = bounded_properties(maintained, operation)
    found: dict[str | None, dict[str, Any]] = {}
    for group in planned_groups(maintained, operation, condition, properties):
        # Files of earlier partition specs are reported together: they may have rows of any partition.
        of_today = group.fileScanTasks()[0].file().specId() == spec.specId()
        name = str(spec.partitionToPath(group.info().partition())) if of_today else None
        part = found.setdefault(name, {"partition": name, "files": 0, "bytes": 0, "expected_files": 0})
        part["files"] += int(group.inputFileNum())
        part["bytes"] += int(group.inputFilesSizeInBytes())
        part["expected_files"] += int(group.expectedOutputFiles())
    yield from sorted(found.values(), key=lambda part: (part["partition"] is None, part["partition"]))


def file_filter(maintained: MaintainedTable, clause: Clause | None, condition: str | None) -> Any:
    """Iceberg's expression for the condition of a rewrite; the clause is blamed for what is wrong with it."""
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

"""What a compaction would rewrite: Iceberg's own planner is asked, and nothing is written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from catchment.commit.jvm import Jvm
from catchment.engine.failures import first_line, from_spark
from catchment.engine.jvm import causes, stack_trace
from catchment.errors import JobError
from catchment.formats.iceberg.catalogs import EXCEPTIONS
from catchment.maintain.model import Upkeep, Ward
from catchment.maintain.procedures import call
from catchment.maintain.shown import require_kept
from catchment.plan.model import Clause, Rewrite

CONVERTER = "org.apache.spark.sql.execution.datasources.SparkExpressionConverter"
INVALID = f"{EXCEPTIONS}ValidationException"
NOTHING = "false"
"""A condition that no file meets."""
MANIFEST_SIZE, MANIFEST_SIZE_DEFAULT = "commit.manifest.target-size-bytes", 8 * 1024 * 1024


def look_at_files(ward: Ward, deed: Rewrite) -> Upkeep:
    """Which data files a rewrite would write anew, partition by partition."""
    require_kept(ward)
    _check(ward, deed)
    ward.table.refresh()
    groups = list(_groups(ward, deed))
    return Upkeep(
        facts={
            "rewritten_files": sum(group["files"] for group in groups),
            "rewritten_bytes": sum(group["bytes"] for group in groups),
            "expected_files": sum(group["expected_files"] for group in groups),
            "partitions": groups,
        }
    )


def look_at_manifests(ward: Ward) -> Upkeep:
    """Which manifests a rewrite would write anew: those of the table's newest partitioning, unless one is enough."""
    require_kept(ward)
    ward.table.refresh()
    head, files = ward.table.currentSnapshot(), ward.table.io()
    kinds = (head.dataManifests(files), head.deleteManifests(files)) if head is not None else ()
    target = int(ward.table.properties().get(MANIFEST_SIZE) or MANIFEST_SIZE_DEFAULT)
    count = size = expected = 0
    for lengths in (_lengths(ward, manifests) for manifests in kinds):
        wanted = -(-sum(lengths) // target)
        if lengths and (wanted, len(lengths)) != (1, 1):
            count, size, expected = count + len(lengths), size + sum(lengths), expected + wanted
    return Upkeep(facts={"rewritten_manifests": count, "rewritten_bytes": size, "expected_manifests": expected})


def _check(ward: Ward, deed: Rewrite) -> None:
    """The rewrite itself, of no file: an order, a strategy or a property that it refuses is refused here too."""
    sorting = {"strategy": deed.strategy, "sort_order": deed.order} if deed.strategy == "sort" else {}
    properties = dict(deed.properties) or None
    try:
        call(ward.spark, ward.dataset, "rewrite_data_files", **sorting, where=NOTHING, options=properties)
    except Exception as error:
        refused = next((cause for cause in causes(error) if INVALID in cause.classes), None)
        if refused is None:
            raise
        # Nothing is committed, so this is no conflict with others, as which it would be told otherwise.
        hint = "check the order of the rewrite; `catchment table show` lists the columns"
        raise JobError(first_line(refused), code="maintenance-failed", hint=hint, detail=stack_trace(error)) from error


def _groups(ward: Ward, deed: Rewrite) -> Iterator[dict[str, Any]]:
    jvm, spec = Jvm.of(ward.spark), ward.table.spec()
    planner = jvm.iceberg("actions.BinPackRewriteFilePlanner")(ward.table, _filter(ward, deed.condition))
    planner.init(dict(deed.properties))
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


def _filter(ward: Ward, condition: Clause | None) -> Any:
    jvm = Jvm.of(ward.spark)
    if condition is None:
        return jvm.iceberg("expressions.Expressions").alwaysTrue()
    converter, session = jvm(CONVERTER), ward.spark._jsparkSession
    try:
        resolved = converter.collectResolvedSparkExpression(session, ward.dataset.identifier, condition.sql)
        return converter.convertToIcebergExpression(resolved)
    except Exception as error:
        problem = from_spark(error, otherwise="maintenance-failed")
        problem.where = problem.where or condition.where
        raise problem from error


def _lengths(ward: Ward, manifests: Any) -> list[int]:
    newest = ward.table.spec().specId()
    return [int(manifest.length()) for manifest in manifests if manifest.partitionSpecId() == newest]

"""Compaction: rewrites many small data files or manifests into few large ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

from catchment.errors import CommitConflict, JobError
from catchment.formats.backoff import MAX_ATTEMPTS, attempts
from catchment.formats.failures import first_line, from_spark
from catchment.formats.iceberg.catalogs import EXCEPTIONS
from catchment.formats.iceberg.maintenance.compaction_preview import bounded_properties, planned_groups
from catchment.formats.iceberg.maintenance.delete_files import rewrite_position_deletes
from catchment.formats.iceberg.maintenance.model import MaintainedTable
from catchment.formats.iceberg.maintenance.partition_conditions import condition_of
from catchment.formats.iceberg.maintenance.procedures import call
from catchment.formats.iceberg.maintenance.rewrite_parts import Amount, commits_for, in_commits, may_be_split, total
from catchment.formats.iceberg.row_changes import CONFLICT_ERRORS
from catchment.formats.model import MaintenanceResult
from catchment.jvm.causes import causes, is_a, stack_trace
from catchment.plan.model import Rewrite, RewriteManifests

ROW_CHANGE_WAIT_SECONDS = 60.0
"""How long a compaction waits for row-level changes, which it would force to start again."""
LOOK_SECONDS = 0.25
VALIDATION = f"{EXCEPTIONS}ValidationException"
Result = TypeVar("Result")


def rewrite_files(maintained: MaintainedTable, operation: Rewrite) -> MaintenanceResult:
    """Rewrite data files, those of the chosen partitions if some are named, and then their position delete files."""
    condition = condition_of(maintained, operation)
    try:
        facts = _in_parts(maintained, operation, condition)
        if facts is None or facts["failed_files"]:
            rest = retry_conflicts(maintained, lambda: _rewrite(maintained, operation, condition, operation.properties))
            facts = _added(facts, rest)
        if facts["failed_files"]:
            maintained.listener.warn(
                f"{maintained.dataset.address}: {facts['failed_files']} files were not rewritten, because others "
                "changed them first or they could not be read; the engine's log says which"
            )
        facts |= retry_conflicts(maintained, lambda: rewrite_position_deletes(maintained, condition))
    except Exception as error:
        if operation.condition is None or isinstance(error, CommitConflict):
            raise
        raise from_spark(error, otherwise="maintenance-failed").at(operation.condition.where) from error
    return MaintenanceResult(facts["added_files"], facts["rewritten_bytes"], facts=facts)


def _in_parts(maintained: MaintainedTable, operation: Rewrite, condition: str | None) -> dict[str, int] | None:
    """Rewrite in several commits what is too large for one; None if that is nothing.

    Iceberg keeps the errors of parts to itself. So parts that failed are tried again for as long as others succeed;
    what is left has the count `failed_files` and belongs into one commit, whose error is known.
    """
    properties, done = bounded_properties(maintained, operation), None
    for _ in attempts():
        amount = _amount(maintained, operation, condition, properties)
        commits = commits_for(amount, properties)
        if commits == 1:
            break
        parts = in_commits(properties, commits)
        part = retry_conflicts(maintained, partial(_rewrite, maintained, operation, condition, parts))
        maintained.listener.check()
        part["failed_files"] = max(0, amount.files - part["rewritten_files"])
        done = _added(done, part)
        if not part["failed_files"] or not part["rewritten_files"]:
            break
    return done


def _amount(
    maintained: MaintainedTable, operation: Rewrite, condition: str | None, properties: Mapping[str, str]
) -> Amount:
    """What a rewrite would rewrite; nothing if the whole table fits into one commit, or must."""
    maintained.table.refresh()
    head = maintained.table.currentSnapshot()
    if head is None or not may_be_split(operation):
        return Amount(0, 0)
    files, size = (head.summary().get(name) for name in ("total-data-files", "total-files-size"))
    if files and size and commits_for(Amount(int(files), int(size)), properties) == 1:
        return Amount(0, 0)
    groups = planned_groups(maintained, operation, condition, properties)
    return total(Amount(int(group.inputFileNum()), int(group.inputFilesSizeInBytes())) for group in groups)


def _rewrite(
    maintained: MaintainedTable, operation: Rewrite, condition: str | None, properties: Mapping[str, str]
) -> dict[str, int]:
    sorting = {"strategy": operation.strategy, "sort_order": operation.order} if operation.strategy == "sort" else {}
    done = call(
        maintained.spark,
        maintained.dataset,
        "rewrite_data_files",
        **sorting,
        where=condition,
        options=dict(properties) or None,
    ).asDict()
    return {
        "rewritten_files": int(done["rewritten_data_files_count"]),
        "added_files": int(done["added_data_files_count"]),
        "rewritten_bytes": int(done["rewritten_bytes_count"]),
        "failed_files": int(done["failed_data_files_count"]),
    }


def _added(earlier: Mapping[str, int] | None, now: Mapping[str, int]) -> dict[str, int]:
    """The counts of several rewrites; files that failed were tried again, so that the last one counts them."""
    before = {**earlier, "failed_files": 0} if earlier else {}
    return {name: count + before.get(name, 0) for name, count in now.items()}


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


def retry_conflicts(maintained: MaintainedTable, attempt: Callable[[], Result]) -> Result:
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

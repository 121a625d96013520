"""Compaction: many small files become few large ones, in the table's data or in its metadata.

It commits by Iceberg's own optimistic commit and holds no lease: no writer ever waits for it. Where a writer was first,
it is the compaction that begins anew.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from catchment.engine.failures import first_line, from_spark
from catchment.engine.jvm import causes, is_a, stack_trace
from catchment.errors import CommitConflict, JobError
from catchment.formats.attempts import MOST_ATTEMPTS, attempts
from catchment.formats.iceberg.catalogs import EXCEPTIONS, Table
from catchment.formats.iceberg.changes import OVERTAKEN
from catchment.maintain.model import Upkeep, Ward
from catchment.maintain.procedures import call
from catchment.plan.model import Rewrite, RewriteManifests

COURTESY_SECONDS = 60.0
"""How long a compaction lets changes of rows go first, which it would force to begin anew."""
LOOK_SECONDS = 0.25
VALIDATION = f"{EXCEPTIONS}ValidationException"


def rewrite_files(ward: Ward, deed: Rewrite) -> Upkeep:
    """Write data files anew."""
    condition = deed.condition.sql if deed.condition else None
    sorting = {"strategy": deed.strategy, "sort_order": deed.order} if deed.strategy == "sort" else {}

    def attempt() -> Upkeep:
        done = call(
            ward.spark,
            ward.dataset,
            "rewrite_data_files",
            **sorting,
            where=condition,
            options=dict(deed.properties) or None,
        ).asDict()
        facts = {
            "rewritten_files": int(done["rewritten_data_files_count"]),
            "added_files": int(done["added_data_files_count"]),
            "rewritten_bytes": int(done["rewritten_bytes_count"]),
            "failed_files": int(done["failed_data_files_count"]),
        }
        if facts["failed_files"]:
            ward.listener.warn(
                f"{ward.dataset.address}: others were first at {facts['failed_files']} files; they stay as they are"
            )
        return Upkeep(facts["added_files"], facts["rewritten_bytes"], facts=facts)

    try:
        return unhurried(ward, attempt)
    except Exception as error:
        if deed.condition is None or isinstance(error, CommitConflict):
            raise
        problem = from_spark(error, otherwise="maintenance-failed")
        problem.where = problem.where or deed.condition.where
        raise problem from error


def rewrite_manifests(ward: Ward, deed: RewriteManifests) -> Upkeep:
    """Write manifests anew."""

    def attempt() -> Upkeep:
        done = call(ward.spark, ward.dataset, "rewrite_manifests", use_caching=deed.caching)
        facts = {
            "rewritten_manifests": int(done["rewritten_manifests_count"]),
            "added_manifests": int(done["added_manifests_count"]),
        }
        return Upkeep(facts["added_manifests"], facts=facts)

    return unhurried(ward, attempt)


def unhurried(ward: Ward, attempt: Callable[[], Upkeep]) -> Upkeep:
    """Try until it succeeds; whoever writes goes first, and what a writer has changed is looked at anew."""
    for number in attempts():
        _let_pass(ward)
        before = head(ward.table)
        try:
            return attempt()
        except Exception as error:
            if not is_a(error, *OVERTAKEN):
                raise
            # Iceberg says with the same exception that something was changed and that something is not there.
            if is_a(error, VALIDATION) and head(ward.table) == before:
                raise _refused(error) from error
            if number == MOST_ATTEMPTS:
                raise _overtaken(ward, number) from error
        ward.listener.check()
    raise AssertionError("the last attempt returns or raises")


def head(table: Table) -> int | None:
    """The current snapshot of a table."""
    table.refresh()
    found = table.currentSnapshot()
    return None if found is None else int(found.snapshotId())


def _let_pass(ward: Ward) -> None:
    """Wait while rows are being changed: that statement would have to be evaluated again."""
    deadline = time.monotonic() + COURTESY_SECONDS
    while ward.writer.store.leases.holder(f"rows/{ward.dataset.address}") and time.monotonic() < deadline:
        ward.listener.check()
        time.sleep(LOOK_SECONDS)


def _refused(error: Exception) -> JobError:
    message = first_line(next(causes(error)))
    hint = "nothing was changed; `catchment table show` tells what the table has"
    return JobError(message, code="maintenance-failed", hint=hint, detail=stack_trace(error))


def _overtaken(ward: Ward, number: int) -> CommitConflict:
    return CommitConflict(
        f"{ward.dataset.address} was changed by others during each of {number} attempts",
        code="maintenance-overtaken",
        hint="try again when fewer jobs write to it; for a rewrite, `where` or `partial-progress.enabled: true` help",
    )

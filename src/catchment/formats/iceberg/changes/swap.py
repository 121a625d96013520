"""Commits a metadata change with one compare-and-swap against the metadata that it was computed from.

If the swap fails, the change is computed again from what others have committed. The table records its last changes, so
that a change is not made twice after a lost answer or a crash.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from typing import Any

from pyspark.sql import SparkSession

from catchment.commit import faults
from catchment.errors import CommitConflict, JobError
from catchment.formats.backoff import attempts
from catchment.formats.failures import first_line
from catchment.formats.iceberg.catalogs import EXCEPTIONS, Table
from catchment.formats.iceberg.changes.model import Metadata, Staged
from catchment.formats.iceberg.java import Jvm
from catchment.formats.model import Requester
from catchment.jvm.causes import causes, is_a, stack_trace

LAST_CHANGE = "catchment.changed"
"""The table property that records the last change: which one, by whom, and when."""
NOT_SWAPPED = tuple(f"{EXCEPTIONS}{name}Exception" for name in ("CommitFailed", "CommitStateUnknown"))
REFUSALS = (
    "java.lang.IllegalArgumentException",
    "java.lang.IllegalStateException",
    "java.lang.UnsupportedOperationException",
    f"{EXCEPTIONS}ValidationException",
)
"""The exceptions with which Iceberg refuses a change."""
MAX_SWAPS = 20
LONGEST_PAUSE_SECONDS = 0.2
MAX_REMEMBERED = 20
"""How many earlier changes the property lists: a run that is resumed after a crash finds its change there."""

Stage = Callable[[Any, Metadata], None]
"""Adds a change to a transaction, given the metadata it starts from."""


def commit(
    spark: SparkSession, table: Table, name: str, stage: Stage, requester: Requester, *, dry_run: bool
) -> Staged:
    """Make a change unless it was made already, or preview it."""
    sent: Staged | None = None
    for _ in swap_attempts():
        table.refresh()
        transaction = table.newTransaction()
        before = _json(spark, transaction.startMetadata())
        if _is_done(before, requester):
            return sent or Staged(before, before)
        _apply(stage, transaction, before)
        staged = Staged(before, _json(spark, transaction.currentMetadata()))
        if dry_run or not staged.changed:
            return staged
        transaction.updateProperties().set(LAST_CHANGE, _stamp(name, requester, before)).commit()
        sent = staged
        if _swap(transaction):
            return staged
    raise CommitConflict(
        "the table could not be changed, because others keep committing to it",
        hint="try again when fewer jobs write to it",
    )


def swap_attempts() -> Iterator[int]:
    """Attempts with short random pauses."""
    return attempts(MAX_SWAPS, longest=LONGEST_PAUSE_SECONDS)


def _apply(stage: Stage, transaction: Any, before: Metadata) -> None:
    try:
        stage(transaction, before)
    except Exception as error:
        if not is_a(error, *REFUSALS):
            raise
        message = first_line(next(causes(error)))
        hint = "nothing was changed; `catchment table show` describes the table"
        raise JobError(message, code="change-refused", hint=hint, detail=stack_trace(error)) from error


def _swap(transaction: Any) -> bool:
    """Swap the metadata; True only if it certainly succeeded."""
    faults.point("before-swap")
    try:
        transaction.underlyingOps().commit(transaction.startMetadata(), transaction.currentMetadata())
    except Exception as error:
        if not is_a(error, *NOT_SWAPPED):
            raise
        return False
    faults.point("swap-applied")
    return True


def _is_done(before: Metadata, requester: Requester) -> bool:
    return requester.id in _change_ids(before)


def _change_ids(before: Metadata) -> list[str]:
    """The ids of the last changes of a table, newest first."""
    last = json.loads(before.get("properties", {}).get(LAST_CHANGE, "{}"))
    return [last["id"], *last.get("earlier", ())] if last else []


def _stamp(name: str, requester: Requester, before: Metadata) -> str:
    now, earlier = datetime.now(timezone.utc).isoformat(timespec="seconds"), _change_ids(before)[:MAX_REMEMBERED]
    return json.dumps({"change": name, "by": requester.by, "at": now, "id": requester.id, "earlier": earlier})


def _json(spark: SparkSession, metadata: Any) -> Metadata:
    return dict(json.loads(str(Jvm.of(spark).iceberg("TableMetadataParser").toJson(metadata))))

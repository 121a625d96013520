"""A change of a table's metadata: one compare-and-swap of the very metadata that was looked at.

Whoever loses the swap looks again and begins anew on what others have committed. The table remembers the last changes,
so that one whose answer was lost, or whose engine died after it, is not made twice.
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
from catchment.formats.model import Asker
from catchment.jvm.causes import causes, is_a, stack_trace

CHANGED = "catchment.changed"
"""The property of a table that says which change was made last, by whom, and when."""
NOT_SWAPPED = tuple(f"{EXCEPTIONS}{name}Exception" for name in ("CommitFailed", "CommitStateUnknown"))
REFUSALS = (
    "java.lang.IllegalArgumentException",
    "java.lang.IllegalStateException",
    "java.lang.UnsupportedOperationException",
    f"{EXCEPTIONS}ValidationException",
)
"""How Iceberg says that a change cannot be made."""
MOST_LOOKS = 20
LONGEST_PAUSE_SECONDS = 0.2
MOST_REMEMBERED = 20
"""Changes that may come between one whose engine died and its run's resumption."""

Stage = Callable[[Any, Metadata], None]
"""Puts a change into a transaction, by the metadata that it begins from."""


def commit(spark: SparkSession, table: Table, name: str, stage: Stage, asker: Asker, *, dry_run: bool) -> Staged:
    """Make a change, unless it is made already; or look what it would come to."""
    sent: Staged | None = None
    for _ in looks():
        table.refresh()
        transaction = table.newTransaction()
        before = _json(spark, transaction.startMetadata())
        if _is_made(before, asker):
            return sent or Staged(before, before)
        _put(stage, transaction, before)
        staged = Staged(before, _json(spark, transaction.currentMetadata()))
        if dry_run or not staged.changed:
            return staged
        transaction.updateProperties().set(CHANGED, _stamp(name, asker, before)).commit()
        sent = staged
        if _swap(transaction):
            return staged
    raise CommitConflict(
        "others commit to the table all the time: it could not be changed",
        hint="try again when fewer jobs write to it",
    )


def looks() -> Iterator[int]:
    """Again and again, with short pauses that spread rivals."""
    return attempts(MOST_LOOKS, longest=LONGEST_PAUSE_SECONDS)


def _put(stage: Stage, transaction: Any, before: Metadata) -> None:
    try:
        stage(transaction, before)
    except Exception as error:
        if not is_a(error, *REFUSALS):
            raise
        message = first_line(next(causes(error)))
        hint = "nothing was changed; `catchment table show` tells what the table has"
        raise JobError(message, code="change-refused", hint=hint, detail=stack_trace(error)) from error


def _swap(transaction: Any) -> bool:
    """Whether the swap succeeded for sure."""
    faults.point("before-swap")
    try:
        transaction.underlyingOps().commit(transaction.startMetadata(), transaction.currentMetadata())
    except Exception as error:
        if not is_a(error, *NOT_SWAPPED):
            raise
        return False
    faults.point("swap-applied")
    return True


def _is_made(before: Metadata, asker: Asker) -> bool:
    return asker.id in _made(before)


def _made(before: Metadata) -> list[str]:
    """The last changes of a table by their ids, newest first."""
    last = json.loads(before.get("properties", {}).get(CHANGED, "{}"))
    return [last["id"], *last.get("earlier", ())] if last else []


def _stamp(name: str, asker: Asker, before: Metadata) -> str:
    now, earlier = datetime.now(timezone.utc).isoformat(timespec="seconds"), _made(before)[:MOST_REMEMBERED]
    return json.dumps({"change": name, "by": asker.by, "at": now, "id": asker.id, "earlier": earlier})


def _json(spark: SparkSession, metadata: Any) -> Metadata:
    return dict(json.loads(str(Jvm.of(spark).iceberg("TableMetadataParser").toJson(metadata))))

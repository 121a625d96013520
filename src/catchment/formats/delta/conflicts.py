"""Conflicts between concurrent commits to a Delta table, and what follows from each."""

from __future__ import annotations

from typing import Any, Literal

from catchment.errors import CommitConflict
from catchment.formats.backoff import MAX_ATTEMPTS
from catchment.formats.delta.log import Head, Log
from catchment.formats.model import Write
from catchment.jvm.causes import causes
from catchment.plan.model import OutputPlan

EXCEPTIONS = "io.delta.exceptions."
DATA = frozenset(
    f"{EXCEPTIONS}{name}Exception"
    for name in ("ConcurrentAppend", "ConcurrentDeleteDelete", "ConcurrentDeleteRead", "ConcurrentWrite")
)
SHAPE = frozenset({f"{EXCEPTIONS}MetadataChangedException", f"{EXCEPTIONS}ProtocolChangedException"})
OURS = frozenset({f"{EXCEPTIONS}ConcurrentTransactionException"})

Kind = Literal["data", "shape", "ours"]
"""data: others changed what this write replaces; shape: others changed the schema or the protocol; ours: another
attempt committed this write."""


def kind_of(error: BaseException) -> Kind | None:
    """The kind of conflict that an exception reports; None if it is not a conflict."""
    classes = frozenset().union(*(cause.classes for cause in causes(error)))
    kinds: tuple[tuple[Kind, frozenset[str]], ...] = (("data", DATA), ("shape", SHAPE), ("ours", OURS))
    return next((kind for kind, names in kinds if classes & names), None)


def validates(output: OutputPlan) -> bool:
    """Whether this output must not replace what others have committed since the job began."""
    return output.mode == "overwrite-partitions" and output.conflict != "last-wins"


def base_of(log: Log, write: Write, head: Head) -> Any:
    """The snapshot from which on Delta checks for conflicts: the one that the job has seen, or else the newest."""
    since = write.since if validates(write.output) else None
    if since is None or since.sequence == head.version:
        return head.snapshot
    if since.table_uuid != head.id:
        raise changed(write)
    return log.snapshot(since.sequence)


def worth_another(error: BaseException, write: Write, number: int) -> bool:
    """Whether to try again: others committed first, and this write may replace what they committed."""
    return kind_of(error) is not None and not validates(write.output) and number < MAX_ATTEMPTS


def refusal(error: BaseException, write: Write) -> CommitConflict | None:
    """The error if others committed first and this write must not replace that; otherwise None."""
    return changed(write) if kind_of(error) is not None and validates(write.output) else None


def changed(write: Write) -> CommitConflict:
    """The error of a write whose partitions have changed since its job began."""
    return CommitConflict(
        f"somebody committed to the partitions of {write.id} in {write.output.dataset.address} since the job began",
        code="partitions-changed",
        hint="run the job again on the new state, or set `conflict: last-wins` on the output",
    )

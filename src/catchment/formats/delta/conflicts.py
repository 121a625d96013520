"""Conflicts between concurrent commits to a Delta table, and what follows from each."""

from __future__ import annotations

from typing import Any, Literal

from catchment.errors import CommitConflict
from catchment.formats.backoff import MAX_ATTEMPTS
from catchment.formats.delta.log import NO_TABLE, Head, Log
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
    return output.mode in ("overwrite", "overwrite-partitions") and output.conflict != "last-wins"


def base_of(log: Log, write: Write, head: Head) -> Any:
    """The snapshot from which Delta checks for conflicts: the one that the job has seen, or else the newest.

    Files that were only rearranged since then are no conflict, although Delta would treat them as one.
    """
    since = write.since if validates(write.output) else None
    if since is None:
        return head.snapshot
    if since.table_uuid not in (NO_TABLE.table_uuid, head.id):
        raise changed(write)
    same = _same_rows_until(log, since.sequence, head.version)
    if same == head.version:
        return head.snapshot
    if write.output.mode == "overwrite" or same < 0:
        raise changed(write)
    return log.snapshot(same)


def worth_another(error: BaseException, log: Log, write: Write, number: int) -> bool:
    """Whether to try again: others committed first, and this write may replace what they committed."""
    return kind_of(error) is not None and number < MAX_ATTEMPTS and not _must_not_replace(log, write)


def refusal(error: BaseException, log: Log, write: Write) -> CommitConflict | None:
    """The error if others committed first and this write must not replace that; otherwise None."""
    return changed(write) if kind_of(error) is not None and _must_not_replace(log, write) else None


def changed(write: Write) -> CommitConflict:
    """The error of a write that would replace what others have committed since its job began."""
    whole = write.output.mode == "overwrite"
    what = f"{write.output.dataset.address}, which {write.id} replaces," if whole else _partitions(write)
    return CommitConflict(
        f"somebody committed to {what} since the job began",
        code="partitions-changed",
        hint="run the job again on the new state, or set `conflict: last-wins` on the output",
    )


def _partitions(write: Write) -> str:
    return f"the partitions of {write.id} in {write.output.dataset.address}"


def _must_not_replace(log: Log, write: Write) -> bool:
    """Whether others have changed rows since the job began that this write would replace."""
    if not validates(write.output):
        return False
    head, since = log.head(), write.since
    if head is None or since is None or since.table_uuid not in (NO_TABLE.table_uuid, head.id):
        return True
    return _same_rows_until(log, since.sequence, head.version) < head.version


def _same_rows_until(log: Log, since: int, newest: int) -> int:
    """The last version before others changed rows, columns or properties; commits up to it only rearranged files."""
    same = since
    for version, action in log.actions(since + 1, newest):
        if version > same + 1:
            break  # what happened in between is no longer in the log
        if _changes(action, version):
            return version - 1
        same = version
    return same


def _changes(action: Any, version: int) -> bool:
    kind = str(action.getClass().getSimpleName())
    if kind in ("AddFile", "RemoveFile"):
        return bool(action.dataChange())
    # The first version is the creation of the table, which an output does itself.
    return kind in ("Metadata", "Protocol") and version > 0

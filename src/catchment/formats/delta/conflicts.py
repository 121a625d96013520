"""When others commit to a Delta table at the same time: which conflicts there are, and what each of them means."""

from __future__ import annotations

from typing import Any, Literal

from catchment.errors import CommitConflict
from catchment.formats.backoff import MOST_ATTEMPTS
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
"""Others changed what this write replaces; others changed the table itself; another attempt committed this write."""


def kind_of(error: BaseException) -> Kind | None:
    """Which conflict an exception is; None where it is something else."""
    classes = frozenset().union(*(cause.classes for cause in causes(error)))
    kinds: tuple[tuple[Kind, frozenset[str]], ...] = (("data", DATA), ("shape", SHAPE), ("ours", OURS))
    return next((kind for kind, names in kinds if classes & names), None)


def validates(output: OutputPlan) -> bool:
    """Whether commits of others since the job began are more than this write may replace."""
    return output.mode == "overwrite-partitions" and output.conflict != "last-wins"


def base_of(log: Log, write: Write, head: Head) -> Any:
    """The state that Delta looks for conflicts from: what the job has seen, where that matters, or else the newest."""
    since = write.since if validates(write.output) else None
    if since is None or since.sequence == head.version:
        return head.snapshot
    if since.table_uuid != head.id:
        raise changed(write)
    return log.snapshot(since.sequence)


def worth_another(error: BaseException, write: Write, number: int) -> bool:
    """Whether another attempt may end otherwise: others came in between, and this write may replace what they did."""
    return kind_of(error) is not None and not validates(write.output) and number < MOST_ATTEMPTS


def refusal(error: BaseException, write: Write) -> CommitConflict | None:
    """What to say where others came in between and this write may not replace it; None where it is something else."""
    return changed(write) if kind_of(error) is not None and validates(write.output) else None


def changed(write: Write) -> CommitConflict:
    """The error of a write whose partitions are no longer as its job has seen them."""
    return CommitConflict(
        f"somebody committed to the partitions of {write.id} in {write.output.dataset.address} since the job began",
        code="partitions-changed",
        hint="run the job again on the new state, or set `conflict: last-wins` on the output",
    )

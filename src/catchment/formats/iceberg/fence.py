"""Makes sure that a swap whose answer was lost cannot be applied any more.

A REST catalog compares the branch that a swap moves, not the whole metadata. A swap that was sent and is under way
may therefore be applied after its write was refused for another reason. An empty commit moves the branch.
"""

from __future__ import annotations

from catchment.formats.iceberg.table import MAIN, LakeTable
from catchment.store.writes import Entry

FENCE = "catchment.fence"
"""In the summary of the empty commit: the write that is refused."""


def table_is_same(table: LakeTable, write: Entry) -> bool:
    """Whether the table is the one that the write was meant for; otherwise every catalog refuses its swap."""
    return table.uuid == write.intent.base.table_uuid


def fence(table: LakeTable, branch: str, write_id: str) -> None:
    """Commit nothing to the branch of a write, so that no swap that was sent before can be applied."""
    if branch != MAIN and table.java.refs().get(branch) is None:
        return  # a swap to a branch that is gone is refused
    empty = table.java.newFastAppend().set(FENCE, write_id)
    (empty if branch == MAIN else empty.toBranch(branch)).commit()

"""Makes sure that a swap whose answer was lost can no longer be applied.

A REST catalog compares the branch that a swap moves, not the whole metadata. A swap that is still under way may
therefore be applied after its write was refused for another reason. An empty commit moves the branch, so that the swap
fails.
"""

from __future__ import annotations

from catchment.formats.iceberg.table import MAIN, LakeTable
from catchment.store.writes import Entry

FENCE = "catchment.fence"
"""The summary entry of the empty commit that names the refused write."""


def table_is_same(table: LakeTable, write: Entry) -> bool:
    """Whether the table is the one that the write was meant for; otherwise every catalog refuses its swap."""
    return table.uuid == write.intent.base.table_uuid


def fence(table: LakeTable, branch: str, write_id: str) -> None:
    """Make an empty commit to the branch of a write, so that no swap that was sent before can be applied."""
    if branch != MAIN and table.java.refs().get(branch) is None:
        return  # a swap to a branch that is gone is refused
    empty = table.java.newFastAppend().set(FENCE, write_id)
    (empty if branch == MAIN else empty.toBranch(branch)).commit()

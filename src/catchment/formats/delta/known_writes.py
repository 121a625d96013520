"""Tracks the write ids of a Delta table from version to version.

Delta itself would compute the whole state of each new version for this, which takes a Spark job.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from catchment.formats.delta.log import NOT_THERE, Head, Log
from catchment.jvm.causes import is_a

MAX_LATER = 20_000
"""With more ids than this since the last computed state, the state is computed again."""


@dataclass
class KnownWrites:
    """The write ids in one table. Not thread-safe."""

    log: Log
    _table: str = ""
    _version: int = -1
    _state: Any = None
    """Delta's own map of all transactions, as of an earlier version."""
    _later: set[str] = field(default_factory=set)
    """The write ids of the versions after that."""

    def among(self, write_ids: Collection[str], head: Head) -> frozenset[str]:
        """The write ids among these that the table has in its current version."""
        self._follow(head)
        return frozenset(each for each in write_ids if each in self._later or self._state.contains(each))

    def add(self, write_ids: Collection[str], version: int) -> None:
        """Remember the writes of a version that was just committed, if it directly follows the last known one."""
        if version == self._version + 1:
            self._later.update(write_ids)
            self._version = version

    def forget(self) -> None:
        """Start over, because a commit in the log was overwritten."""
        self._table = ""

    def _follow(self, head: Head) -> None:
        behind = head.id != self._table or head.version < self._version or len(self._later) > MAX_LATER
        if behind or not self._read(head.version):
            self._state, self._later = head.snapshot.transactions(), set()
        self._table, self._version = head.id, head.version

    def _read(self, newest: int) -> bool:
        """Read the versions that are new; False if one of them is no longer in the log."""
        for version in range(self._version + 1, newest + 1):
            try:
                self._later.update(self.log.commit(version).write_ids)
            except Exception as error:
                if is_a(error, *NOT_THERE):
                    return False
                raise
        return True

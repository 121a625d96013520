"""A snapshot of a Paimon table as stored in its file, and the writes in it. No Spark here.

Paimon's snapshots have no properties, but they have a user name, which may be any text, and which Paimon only compares.
Catchment puts its stamp there: JSON with the ids of the writes, their seals and their metastore.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from catchment.commit.committed import Committed
from catchment.formats.stamps import METASTORE, MODE, WRITE_BYTES, WRITE_FILES, WRITE_ROWS, WRITES, split

ADDS = frozenset({"APPEND"})
REARRANGES = frozenset({"COMPACT", "ANALYZE"})
"""Kinds of commits that change no row."""
CHANGE_ROWS = frozenset({"merge", "delete"})
"""Modes of writes that change rows which they have read."""
FENCE = "catchment fence"
"""The user name of a fence, which is a snapshot without changes."""
COMPACTION = "catchment compaction for {}"
"""The user name of a compaction for a metastore; Paimon appends `_` and a random text."""
_STAMP = '{"catchment.'


@dataclass(frozen=True)
class Snapshot:
    """One snapshot."""

    id: int
    millis: int
    kind: str
    user: str
    manifests: str
    """The name of its delta manifest list, which no other snapshot has."""
    rows: int
    """Rows of all data files, before Paimon merges those of one key."""
    added_rows: int

    @classmethod
    def of(cls, text: str) -> Snapshot:
        """A snapshot from Paimon's JSON."""
        found = json.loads(text)
        return cls(
            *(found["id"], found["timeMillis"], found["commitKind"], found["commitUser"], found["deltaManifestList"]),
            found.get("totalRecordCount") or 0,
            found.get("deltaRecordCount") or 0,
        )

    @property
    def name(self) -> str:
        """Number and identity: after a rollback, another snapshot may have the same number."""
        return f"{self.id}@{self.manifests}"

    @cached_property
    def stamp(self) -> Mapping[str, str]:
        """What Catchment wrote about the commit; empty if others made it."""
        return dict(json.loads(self.user)) if self.user.startswith(_STAMP) else {}

    @property
    def write_ids(self) -> tuple[str, ...]:
        return split(self.stamp.get(WRITES))

    @property
    def operation(self) -> str:
        """What was done; Paimon itself records row-level changes as appends."""
        return self.stamp.get(MODE, self.kind.lower())

    @property
    def changes_rows(self) -> bool:
        """Whether it does anything other than add rows or rearrange files."""
        return self.kind not in ADDS | REARRANGES or self.operation in CHANGE_ROWS

    def is_foreign_to(self, metastore: str) -> bool:
        """Whether it was committed without Catchment, or with another metastore."""
        if self.user == FENCE or self.user.startswith(f"{COMPACTION.format(metastore)}_"):
            return False
        return self.stamp.get(METASTORE) != metastore

    def committed(self, write_id: str) -> Committed:
        """The counts of one of its writes."""
        at = self.write_ids.index(write_id)
        rows, size, files = (int(split(self.stamp[key])[at]) for key in (WRITE_ROWS, WRITE_BYTES, WRITE_FILES))
        return Committed(self.id, rows, size, files)

"""Writes, as the ledger records them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

WriteState = Literal["open", "sealed", "committed", "abandoned"]
WriteMode = Literal["append", "overwrite", "overwrite-partitions", "merge", "delete", "maintain"]
Conflict = Literal["last-wins", "fail", "rerun"]

NO_BRANCH = ""
"""The branch of plain files, which have none."""
FATE_UNKNOWN = "history-expired"
"""The error of a write that may or may not be in the table. Until a person says which, it is not written again, and its
files must not be removed."""
ACCEPTED_AS_LOST = "accepted-as-lost"
"""The error of such a write once a person has said that it is not in the table."""


@dataclass(frozen=True)
class Base:
    """The state of the table that a write began from."""

    table_uuid: str
    schema_id: int
    sequence: int
    """The table's last sequence number: every later commit has a greater one."""
    snapshot_id: int | None


@dataclass(frozen=True)
class Intent:
    """A write as it begins."""

    write_id: str
    workflow: str
    target: str
    """The table's address; for plain files, their location."""
    branch: str
    mode: WriteMode
    conflict: Conflict
    owner: str
    """The lease of the engine that fills the buffer."""
    buffer: str
    """The directory of this attempt's data files. Without a buffer, a unique name of the attempt."""
    base: Base
    dataset: Mapping[str, Any]
    """The destination of the write, as the plan resolved it: enough to recover the write without the workflow."""
    inputs: Mapping[str, str] = field(default_factory=dict)
    """The versions or windows of the inputs that its rows come from, by input name; empty if they are not needed."""
    buffered: bool = True
    """Whether the files wait in a buffer to be published. Otherwise the format commits them itself."""
    place: str | None = None
    """The table's location, if its lease is named after the location instead of the target."""
    window: Mapping[str, Any] | None = None
    """The window of an incremental job that the write belongs to, as a record of `store.states.record_of`."""


@dataclass(frozen=True)
class Contents:
    """The contents of a complete buffer: descriptors of its data files, and totals.

    What a descriptor contains is up to the format; it is plain JSON, and any engine can read it.
    """

    descriptors: Sequence[Mapping[str, Any]]
    """Empty once the write is published: from then on the table knows its files."""
    rows: int
    bytes: int
    files: int


@dataclass(frozen=True)
class Entry:
    """One row of the ledger."""

    intent: Intent
    state: WriteState
    tried: bool
    """Whether a swap with this write was ever sent, or the publication of its files was ever begun."""
    contents: Contents | None
    snapshot_id: int | None
    error: Mapping[str, Any] | None
    """Why it was abandoned; for a sealed write, why it was set aside."""
    number: int | None = None
    """The number of its seal: the seals of a table are numbered in order."""
    sealed: float | None = field(default=None, compare=False)
    """When it was sealed, in seconds since 1970."""

    @property
    def write_id(self) -> str:
        return self.intent.write_id


@dataclass(frozen=True)
class Published:
    """A write as the history of a table records it."""

    write_id: str
    workflow: str
    snapshot_id: int | None
    rows: int
    number: int
    """The number of its seal."""

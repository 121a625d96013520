"""Writes, as the ledger knows them."""

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
"""The error of a write that may be in the table or not. It stays so until a person says which; until then nobody writes
it again, and its files are nobody's to remove."""
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
    """The table's address; of plain files, their place."""
    branch: str
    mode: WriteMode
    conflict: Conflict
    owner: str
    """The lease of the engine that fills the buffer."""
    buffer: str
    """The directory of this attempt's data files. Without a buffer, a name that tells the attempts apart."""
    base: Base
    dataset: Mapping[str, Any]
    """What the write is headed for, as the plan resolved it: enough to recover it without the workflow."""
    inputs: Mapping[str, str] = field(default_factory=dict)
    """The states of the job's inputs that its rows come from, by the inputs' names; empty where nobody will ask."""
    buffered: bool = True
    """Whether the files wait in a buffer to be published. Otherwise the format commits them itself."""
    place: str | None = None
    """Where the table lies, if its lease is named after that and not after the target."""
    window: Mapping[str, Any] | None = None
    """The window of an incremental job that the write belongs to, as `store.states.record_of` has it."""


@dataclass(frozen=True)
class Contents:
    """A full buffer: descriptors of its data files, and their sums.

    What a descriptor is made of is the format's business; it is plain JSON, and any engine can read it.
    """

    descriptors: Sequence[Mapping[str, Any]]
    """Empty once the write is published: the table knows its files then."""
    rows: int
    bytes: int
    files: int


@dataclass(frozen=True)
class Entry:
    """One row of the ledger."""

    intent: Intent
    state: WriteState
    tried: bool
    """Whether a swap with this write in it was ever sent, or its files began to be published."""
    contents: Contents | None
    snapshot_id: int | None
    error: Mapping[str, Any] | None
    """Why it was abandoned; of a sealed write, why it was set aside."""
    number: int | None = None
    """Of its seal: seals of one table are numbered in their order."""

    @property
    def write_id(self) -> str:
        return self.intent.write_id


@dataclass(frozen=True)
class Published:
    """A write as the history of a table has it."""

    write_id: str
    workflow: str
    snapshot_id: int | None
    rows: int
    number: int
    """Of its seal."""

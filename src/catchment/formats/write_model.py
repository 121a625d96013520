"""A write and its result, as plain data. No Spark here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from catchment.plan.model import OutputPlan

if TYPE_CHECKING:  # reading a table's history must not load the store
    from catchment.store.writes import Base, Entry


@dataclass(frozen=True)
class Write:
    """One output of one job in one run."""

    output: OutputPlan
    workflow: str
    job: str
    run_id: str
    since: Base | None = None
    """The state of the dataset when the job began, if later changes of it count as conflicts."""
    inputs: Mapping[str, str] = field(default_factory=dict)
    """The versions of the job's inputs by name, if a later attempt may have to compare them."""
    window: Mapping[str, Any] | None = None
    """The window of an incremental job that the rows come from; the table's history keeps it."""

    @property
    def id(self) -> str:
        """The same on every attempt."""
        return f"{self.run_id}/{self.job}/{self.output.name}"


@dataclass(frozen=True)
class Written:
    """The result of a write."""

    rows: int | None
    files: int | None
    snapshot_id: int | None = None


def written(done: Entry) -> Written:
    """The result of a write that the ledger knows."""
    contents = done.contents
    return Written(contents.rows if contents else 0, contents.files if contents else 0, done.snapshot_id)


@dataclass(frozen=True)
class EarlierWrite:
    """A write that an earlier attempt has completed: it is durable and must not be computed again."""

    written: Written
    committed: bool
    """False if it is sealed but not published yet."""
    inputs: Mapping[str, str]
    """The versions of the inputs that it was computed from."""

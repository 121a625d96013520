"""The request for a run and the results of its jobs: plain values that pass between the command line and the worker."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone

RUN_TIME = "%Y%m%d-%H%M%S"


def new_run_id(now: datetime) -> str:
    """A unique id that sorts by time."""
    return f"{now.astimezone(timezone.utc).strftime(RUN_TIME)}-{secrets.token_hex(3)}"


def began_millis(name: str) -> int:
    """The start time in the run id that a name begins with, in milliseconds since 1970; 0 if there is none."""
    try:
        began = datetime.strptime("-".join(name.split("-")[:2]), RUN_TIME)
    except ValueError:
        return 0
    return int(began.replace(tzinfo=timezone.utc).timestamp() * 1000)


@dataclass(frozen=True)
class Backfill:
    """A range of values that incremental jobs process without changing their state."""

    first: str
    last: str

    @property
    def range(self) -> str:
        return f"{self.first}..{self.last}"


def _now() -> str:
    return datetime.now(timezone.utc).isoformat()


@dataclass(frozen=True)
class RunRequest:
    """What is requested of a run besides its workflow. Everything but `wait` is kept when the run is resumed."""

    reference_time: str = field(default_factory=_now)
    """ISO-8601, UTC: the same on every attempt and after every resume."""
    windows: int = 1
    """How many windows an incremental job may process."""
    backfill: Backfill | None = None
    """The range that incremental jobs process instead of continuing from their state."""
    wait: bool = False
    """Whether an incremental job waits for another run of the same job, no matter how long that takes."""


@dataclass(frozen=True)
class Choices:
    """Which part of a workflow is run, where, and with which values: recorded with the run and kept on resume."""

    variables: Mapping[str, str] = field(default_factory=dict)
    """Values of variables; in the record of a run, all of them."""
    select: tuple[str, ...] = ()
    """Jobs and tags; all jobs if empty."""
    exclude: tuple[str, ...] = ()
    environment: str | None = None
    left_out: tuple[str, ...] = ()
    """The jobs of the workflow that are not run."""

    def over(self, earlier: Choices) -> Choices:
        """These choices, completed with those of an earlier run."""
        cut = self if self.select or self.exclude else earlier
        values = {**earlier.variables, **self.variables}
        return replace(self, variables=values, select=cut.select, exclude=cut.exclude)


def snapshot_name(number: int | None) -> str | None:
    """The id of a snapshot as users see it: text, because many programs round numbers of more than 53 bits."""
    return None if number is None else str(number)


@dataclass(frozen=True)
class OutputResult:
    """The result of one output of a job. The order of the fields is their order in the JSON of `catchment run`."""

    name: str
    dataset: str
    rows: int | None
    files: int | None
    snapshot_id: str | None
    write_id: str


@dataclass(frozen=True)
class InputResult:
    """What was found in one input of a job. The order of the fields is their order in the JSON of `catchment run`."""

    name: str
    dataset: str
    bad_rows: int | None
    """How many rows could not be parsed; None if its format has no such rows, or if nothing was read."""


@dataclass(frozen=True)
class JobReport:
    """The results of one attempt of a job."""

    outputs: tuple[OutputResult, ...] = ()
    inputs: tuple[InputResult, ...] = ()

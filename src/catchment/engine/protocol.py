"""The protocol between launcher and worker: versioned messages, which cross as lines of JSON (`engine.wire`).

Commands go to the worker's standard input, replies come from its standard output. Everything else the worker or
its JVM prints goes to the engine's log. The worker ends when its standard input is closed: its launcher is gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from catchment.errors import CatchmentError, Position, RequestError, Retryable, SetupError
from catchment.plan.model import ChangePlan, Dataset, EnginePlan, JobPlan, Maintenance, Partition
from catchment.project.model import Depot
from catchment.run_model import InputResult, OutputResult, RunRequest

NoteEvent = Literal[
    "input",
    "step",
    "writing",
    "output",
    "progress",
    "warning",
    "preview",
    "explain",
    "window",
    "nothing-new",
    "bad-rows",
    "waiting-for-memory",
    "admitted",
    "stream",
    "batch",
]

VERSION = 13
WAITING_FOR_MEMORY: Final = "waiting-for-memory"
"""The note of a job that its engine has no memory for yet; `admitted` follows when it has."""
HEARTBEAT_SECONDS = 2.0


@dataclass(frozen=True)
class Residence:
    """How the clients of a resident engine reach it, and when it ends by itself."""

    socket: str
    """A path in a directory that only the user can enter."""
    token: str
    """What clients have to know."""
    environment: Mapping[str, str]
    """The variables that it was started with."""
    code: str
    """Which Catchment it runs."""
    idle_seconds: float | None
    """It ends after so many seconds without a client; None for never."""


@dataclass(frozen=True)
class Start:
    """The first command, with the settings of the application. Answered by `Ready` or `Failed` (attempt None)."""

    engine: EnginePlan
    jars: tuple[str, ...]
    log_dir: str
    scratch: str
    """A directory that the launcher removes once the engine has ended."""
    secrets: tuple[str, ...] = ()
    java_options: tuple[str, ...] = ()
    residence: Residence | None = None
    """Given if others than the launcher may use the engine."""
    version: int = VERSION
    kind: Literal["start"] = "start"


@dataclass(frozen=True)
class Attach:
    """The first command of a client of a resident engine, with the engine that it needs.

    Answered by `Ready`, or by `Failed` (attempt None) if that is not this engine.
    """

    token: str
    engine: EnginePlan
    log_dir: str
    """Where the logs of this client's jobs go."""
    secrets: tuple[str, ...]
    environment: Mapping[str, str]
    code: str
    who: str
    """What the client is, for people."""
    version: int = VERSION
    kind: Literal["attach"] = "attach"


@dataclass(frozen=True)
class AskStatus:
    """The only command of a client that wants to know how a resident engine is. Answered by `Facts`."""

    token: str
    stay: bool = False
    """Whether it is to stay from now on, however long nobody uses it."""
    kind: Literal["ask-status"] = "ask-status"


@dataclass(frozen=True)
class RunJob:
    """Run one attempt of a job. Answered by any number of `Note`s, then `Done` or `Failed`."""

    attempt: str
    job: JobPlan
    workflow: str
    run_id: str
    number: int
    """1 for the first attempt."""
    request: RunRequest
    kind: Literal["run-job"] = "run-job"


@dataclass(frozen=True)
class TryJobs:
    """Run jobs up to their outputs and write nothing. Answered by `Facts` or `Failed`."""

    attempt: str
    jobs: tuple[JobPlan, ...]
    """In an order that respects dependencies."""
    workflow: str
    request: RunRequest
    sample: int | None
    """How many rows of each input are read; None to look at columns alone."""
    rows: int
    """How many rows of each input and step are returned."""
    kind: Literal["try-jobs"] = "try-jobs"


@dataclass(frozen=True)
class RunQuery:
    """Run one ad-hoc SQL query. Answered by one or more `Rows`, or by `Failed`."""

    attempt: str
    sql: str
    limit: int | None = None
    published: bool = False
    """Whether tables of depots are looked up in their published catalogs."""
    write: bool = False
    """Whether the statement may change more than its own session."""
    kind: Literal["run-query"] = "run-query"


@dataclass(frozen=True)
class Inspect:
    """Answer one question about a depot or a table. Answered by `Facts` or `Failed`."""

    attempt: str
    what: Literal["tables", "table", "snapshots", "files", "versions", "metadata"]
    depot: Depot
    dataset: Dataset | None = None
    """None if the question is about the depot."""
    kind: Literal["inspect"] = "inspect"


@dataclass(frozen=True)
class Recover:
    """Finish or abandon unfinished writes to these tables. Answered by `Facts` or `Failed`."""

    attempt: str
    tables: tuple[Dataset, ...]
    remove: bool
    """Whether to remove the files of abandoned writes."""
    kind: Literal["recover"] = "recover"


@dataclass(frozen=True)
class Change:
    """Change the metadata of a table. Answered by `Facts` or `Failed`."""

    attempt: str
    change: ChangePlan
    by: str
    """Who requested it."""
    dry_run: bool
    """Whether only to report what would change."""
    kind: Literal["change"] = "change"


@dataclass(frozen=True)
class DropTable:
    """Drop a table with its files. Answered by `Facts` or `Failed`."""

    attempt: str
    table: Dataset
    published: str | None
    """The published catalog of its depot, if it has one."""
    expected: str | None
    """The identity of the table that somebody agreed to drop; None for whatever table has the name."""
    dry_run: bool
    """Whether only to report what would be dropped."""
    kind: Literal["drop-table"] = "drop-table"


@dataclass(frozen=True)
class Maintain:
    """Run one maintenance action on a table. Answered by `Facts` or `Failed`."""

    attempt: str
    table: Dataset
    operation: Annotated[Maintenance, Field(discriminator="kind")]
    by: str
    """Who requested it."""
    dry_run: bool
    """Whether only to report what would be done, for the actions that can."""
    kind: Literal["maintain"] = "maintain"


@dataclass(frozen=True)
class AskHealth:
    """Say how well the files of a table serve its readers. Answered by `Facts` or `Failed`.

    The facts are those of a `TableHealth`, or none if the table's newest commit is the known one.
    """

    attempt: str
    table: Dataset
    small_file_bytes: int | None
    """Files below this size count as small; None for a share of what the table aims at."""
    known: str | None = None
    """The newest commit that the asker knows of."""
    wanted: tuple[Partition, ...] = ()
    """Partitions that are listed however many others there are."""
    kind: Literal["health"] = "health"


@dataclass(frozen=True)
class Cancel:
    attempt: str
    kind: Literal["cancel"] = "cancel"


@dataclass(frozen=True)
class Publish:
    """No other write of the run is to come to the table of this output: it need not wait any longer."""

    attempt: str
    output: str
    kind: Literal["publish"] = "publish"


@dataclass(frozen=True)
class Stop:
    kind: Literal["stop"] = "stop"


@dataclass(frozen=True)
class Preparing:
    """One line of progress from the launcher itself, while it prepares the start of the worker."""

    message: str
    kind: Literal["preparing"] = "preparing"


@dataclass(frozen=True)
class Ready:
    spark_version: str
    application_id: str
    ui: str | None = None
    resident: bool = False
    """Whether it was there already, and stays."""
    version: int = VERSION
    kind: Literal["ready"] = "ready"


@dataclass(frozen=True)
class Ending:
    """A resident engine tells its launcher that it ends by itself."""

    reason: Literal["idle", "worn-out", "stuck"]
    idle_seconds: float | None = None
    """How long the next one may be idle, if it is replaced; None if it is to stay."""
    kind: Literal["ending"] = "ending"


@dataclass(frozen=True)
class Alive:
    """A heartbeat, sent every HEARTBEAT_SECONDS from the moment the worker starts."""

    kind: Literal["alive"] = "alive"


@dataclass(frozen=True)
class Note:
    """An event of a running attempt."""

    attempt: str
    event: NoteEvent
    data: Mapping[str, Any] = field(default_factory=dict)
    kind: Literal["note"] = "note"


@dataclass(frozen=True)
class Sealed:
    """An output is sealed and waits for other writes of the run to its table. Answered by `Publish`."""

    attempt: str
    output: str
    kind: Literal["sealed"] = "sealed"


@dataclass(frozen=True)
class Done:
    attempt: str
    outputs: tuple[OutputResult, ...]
    inputs: tuple[InputResult, ...] = ()
    kind: Literal["done"] = "done"


@dataclass(frozen=True)
class Failed:
    """An attempt failed; if the attempt is None, the engine itself could not start."""

    attempt: str | None
    code: str
    message: str
    retryable: bool
    setup: bool = False
    """True if the machine or the request is at fault, not the job."""
    hint: str | None = None
    where: Position | None = None
    detail: str | None = None
    kind: Literal["failed"] = "failed"


@dataclass(frozen=True)
class Rows:
    """Rows of a query. A large result comes in several messages."""

    attempt: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    """Spark's types of the columns, as JSON."""
    rows: tuple[str, ...]
    """Each row as a JSON array; dates, timestamps and decimals as text."""
    more: bool = False
    """Whether another message with rows follows."""
    truncated: bool = False
    """Whether the query has more rows than its limit."""
    kind: Literal["rows"] = "rows"


@dataclass(frozen=True)
class Facts:
    attempt: str
    data: Mapping[str, Any]
    kind: Literal["facts"] = "facts"


Work = RunJob | TryJobs | RunQuery | Inspect | Recover | Change | DropTable | Maintain | AskHealth
"""Commands that run as an attempt and are answered."""
Command = Annotated[Start | Attach | AskStatus | Work | Cancel | Publish | Stop, Field(discriminator="kind")]
Reply = Annotated[
    Preparing | Ready | Ending | Alive | Note | Sealed | Done | Failed | Rows | Facts, Field(discriminator="kind")
]


def failure(error: CatchmentError, attempt: str | None = None) -> Failed:
    """The message that reports an error."""
    return Failed(
        attempt=attempt,
        code=error.code,
        message=error.message,
        retryable=isinstance(error, Retryable),
        setup=isinstance(error, SetupError | RequestError),
        hint=error.hint,
        where=error.where,
        detail=error.detail,
    )

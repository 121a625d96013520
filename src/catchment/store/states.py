"""Incremental state: where each input of a job continues, and the windows that moved it there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from sqlalchemy import Connection, Row, Select, and_, delete, func, insert, select, update

from catchment.errors import JobError
from catchment.run_model import Backfill
from catchment.store.database import Database, database_time, insert_missing, repeatable
from catchment.store.leases import Lease, Leases
from catchment.store.schema import states, window_runs, windows

Cause = Literal["run", "backfill", "set", "reset", "import"]
"""What opened a window or moved the state."""
WindowStatus = Literal["open", "done", "failed", "dropped"]
SNAPSHOT = "snapshot"
"""The key of a state that continues after a commit."""
FIRST, LAST = "from", "to"
"""The keys of a window over commits; without the first one, the window is the whole table as of the last commit."""


@dataclass(frozen=True)
class InputWindow:
    """What one input reads in a window, and where it continues afterwards."""

    values: Mapping[str, str]
    """The value of every key."""
    after: Mapping[str, str] | None
    """The state once the window is done; empty if it stays as it is, None if there is nothing new to read."""
    zone: str
    """The session's time zone, in which timestamps without a zone are read."""


@dataclass(frozen=True)
class Window:
    """One turn of a job: what it reads, and under which name it writes."""

    workflow: str
    job: str
    number: int
    cause: Cause
    status: WindowStatus
    identity: str
    """The beginning of its write ids: a run that finishes the window uses the same ids as the run that opened it."""
    inputs: Mapping[str, InputWindow]
    opened: float = 0.0
    finished: float | None = None
    runs: tuple[str, ...] = ()
    """The run that opened the window, then those that took it over; empty if a person moved the state."""
    engine: str | None = None
    """The engine that opened it."""
    backfill: Backfill | None = None
    """The backfill that it is a part of."""
    person: str | None = None
    """Who moved the state by hand."""
    outputs: Mapping[str, str] | None = None
    """The address of each output, by its name."""

    @property
    def opened_by(self) -> str:
        """Who opened the window, and what for, as text."""
        runs = ", ".join(f"run {run_id}" for run_id in self.runs)
        on = f" on {self.engine}" if self.engine else ""
        span = f": {self.backfill.range}" if self.backfill else ""
        return self.person or f"{runs}{on}{span}"


@dataclass(frozen=True)
class State:
    """Where one input of a job continues."""

    workflow: str
    job: str
    input: str
    keys: Mapping[str, str] = field(default_factory=dict)
    zone: str = "UTC"
    changed: float = 0.0
    changed_by: str = ""


def record_of(window: Window, metastore: str) -> dict[str, Any]:
    """A window as the history of its outputs stores it: enough to reopen it in a metastore that has lost it."""
    named = {"metastore": metastore, "workflow": window.workflow, "job": window.job, "number": window.number}
    begun = {"identity": window.identity, "runs": list(window.runs), "outputs": _plain(window.outputs)}
    return {**named, **begun, "inputs": _inputs(window)}


def window_of(record: Mapping[str, Any]) -> Window:
    """The window of such a record, reopened."""
    inputs = {name: InputWindow(**part) for name, part in record["inputs"].items()}
    named = record["workflow"], record["job"], record["number"]
    begun = {"identity": record["identity"], "runs": tuple(record["runs"]), "outputs": record["outputs"]}
    return Window(*named, cause="run", status="open", inputs=inputs, **begun)


def lease_name(workflow: str, job: str) -> str:
    """The lease that is needed to move the state of a job."""
    return f"job/{workflow}/{job}"


class States:
    """Reads the states of jobs; moves them for the holder of the job's lease."""

    def __init__(self, database: Database, leases: Leases) -> None:
        self._database = database
        self._leases = leases

    def of_job(self, workflow: str, job: str) -> dict[str, State]:
        """The state of every input of a job that has one, by the input's name."""
        return {state.input: state for state in self.all(workflow, job)}

    @repeatable
    def all(self, workflow: str | None = None, job: str | None = None) -> tuple[State, ...]:
        """Every known state, or those of one workflow or job."""
        found = select(states).order_by(states.c.workflow, states.c.job, states.c.input)
        if workflow is not None:
            found = found.where(states.c.workflow == workflow)
        if job is not None:
            found = found.where(states.c.job == job)
        with self._database.reading() as connection:
            return tuple(State(**row._mapping) for row in connection.execute(found))

    @repeatable
    def windows(self, workflow: str, job: str, *, limit: int | None = None) -> tuple[Window, ...]:
        """The windows of a job, the newest first."""
        found = select(windows).where(*_of(workflow, job)).order_by(windows.c.number.desc()).limit(limit)
        with self._database.reading() as connection:
            return _windows(connection, found)

    @repeatable
    def unfinished(self, workflow: str, job: str, *causes: Cause) -> tuple[Window, ...]:
        """The open windows of a job with one of these causes, the oldest first."""
        found = select(windows).where(*_of(workflow, job), windows.c.status == "open", windows.c.cause.in_(causes))
        with self._database.reading() as connection:
            return _windows(connection, found.order_by(windows.c.number))

    @repeatable
    def begun(self) -> tuple[Window, ...]:
        """The open windows of all jobs, without those of backfills, the oldest first."""
        found = select(windows).where(windows.c.status == "open", windows.c.cause == "run")
        with self._database.reading() as connection:
            return _windows(connection, found.order_by(windows.c.opened))

    @repeatable
    def of_run(self, workflow: str, job: str, run_id: str, cause: Cause = "run") -> tuple[Window, ...]:
        """The windows that a run has opened or taken over, the oldest first."""
        of_job = window_runs.c.workflow == workflow, window_runs.c.job == job
        own = select(window_runs.c.number).where(*of_job, window_runs.c.run_id == run_id)
        found = select(windows).where(*_of(workflow, job), windows.c.number.in_(own), windows.c.cause == cause)
        with self._database.reading() as connection:
            return _windows(connection, found.order_by(windows.c.number))

    @repeatable
    def open(self, lease: Lease, wanted: Sequence[Window]) -> tuple[Window, ...]:
        """Record windows before they are read, and give them their numbers.

        May be repeated if the answer was lost: an identity has one window.
        """
        with self._leases.holding(lease) as connection:
            return tuple(_known(connection, each) or _added(connection, each) for each in wanted)

    @repeatable
    def reopen(self, lease: Lease, window: Window) -> None:
        """Reopen a window that the metastore has lost, under its old number."""
        with self._leases.holding(lease) as connection:
            if _status(connection, window) is None:
                _insert(connection, window)

    @repeatable
    def take_over(self, lease: Lease, left: Sequence[Window], run_id: str) -> tuple[Window, ...]:
        """Record that a run continues with the windows of a backfill that another run has left unfinished."""
        with self._leases.holding(lease) as connection:
            for each in left:
                _add_run(connection, each, run_id)
            return tuple(replace(each, runs=tuple(dict.fromkeys((*each.runs, run_id)))) for each in left)

    @repeatable
    def finish(self, lease: Lease, window: Window) -> None:
        """Mark a window as done and move the state, in one transaction; its outputs are committed."""
        with self._leases.holding(lease) as connection:
            if not _close(connection, window, "done"):
                if _status(connection, window) == "done":
                    return  # only the answer was lost
                raise _gone(window)
            for name, part in window.inputs.items():
                if part.after:
                    moved = State(window.workflow, window.job, name, part.after, part.zone)
                    _put(connection, moved, f"run {window.runs[0]}")

    @repeatable
    def give_up(self, lease: Lease, window: Window) -> None:
        """Close a window for which nothing was written and nothing will be; the next run plans a new one."""
        with self._leases.holding(lease) as connection:
            _close(connection, window, "failed")

    def change(self, lease: Lease, cause: Cause, state: State, by: str) -> None:
        """Set the state of an input for a person; without any keys, reset it. Open windows are dropped."""
        of_job = _of(state.workflow, state.job)
        with self._leases.holding(lease) as connection:
            before = connection.scalar(select(states.c["keys"]).where(*_key(state))) or {}
            connection.execute(update(windows).where(*of_job, windows.c.status == "open").values(_closed("dropped")))
            part = {state.input: InputWindow(before, state.keys, state.zone)}
            _added(connection, Window(state.workflow, state.job, 0, cause, "done", "", part, person=by))
            if state.keys:
                _put(connection, state, by)
            else:
                connection.execute(delete(states).where(*_key(state)))


def _of(workflow: str, job: str) -> tuple[Any, ...]:
    return windows.c.workflow == workflow, windows.c.job == job


def _key(state: State) -> tuple[Any, ...]:
    return states.c.workflow == state.workflow, states.c.job == state.job, states.c.input == state.input


def _known(connection: Connection, wanted: Window) -> Window | None:
    this = (*_of(wanted.workflow, wanted.job), windows.c.identity == wanted.identity)
    return next(iter(_windows(connection, select(windows).where(*this))), None)


def _added(connection: Connection, wanted: Window) -> Window:
    # The lease's row is locked, so no other process numbers the windows of this job.
    newest = select(func.max(windows.c.number)).where(*_of(wanted.workflow, wanted.job))
    return _insert(connection, replace(wanted, number=(connection.scalar(newest) or 0) + 1))


def _insert(connection: Connection, wanted: Window) -> Window:
    row = {
        "workflow": wanted.workflow,
        "job": wanted.job,
        "number": wanted.number,
        "cause": wanted.cause,
        "identity": wanted.identity,
        "engine": wanted.engine,
        "backfill_first": wanted.backfill.first if wanted.backfill else None,
        "backfill_last": wanted.backfill.last if wanted.backfill else None,
        "person": wanted.person,
        "inputs": _inputs(wanted),
        "outputs": _plain(wanted.outputs),
    }
    opened = insert(windows).values(row | {"status": wanted.status, "opened": database_time()})
    connection.execute(opened if wanted.status == "open" else opened.values(finished=database_time()))
    for run_id in wanted.runs:
        _add_run(connection, wanted, run_id)
    return _windows(connection, select(windows).where(*_this(wanted, wanted.number)))[0]


def _inputs(window: Window) -> dict[str, Any]:
    return {
        name: {"values": dict(part.values), "after": _plain(part.after), "zone": part.zone}
        for name, part in window.inputs.items()
    }


def _add_run(connection: Connection, window: Window, run_id: str) -> None:
    """Record that a run works on a window, unless that is recorded already."""
    here = (window_runs.c.workflow == window.workflow, window_runs.c.job == window.job)
    count = select(func.count()).select_from(window_runs).where(*here, window_runs.c.number == window.number)
    key = {"workflow": window.workflow, "job": window.job, "number": window.number, "run_id": run_id}
    insert_missing(connection, window_runs, key | {"position": connection.scalar(count)})


def _plain(keys: Mapping[str, str] | None) -> dict[str, str] | None:
    return None if keys is None else dict(keys)


def _this(window: Window, number: int) -> tuple[Any, ...]:
    return (*_of(window.workflow, window.job), windows.c.number == number)


def _closed(status: WindowStatus) -> dict[str, Any]:
    return {"status": status, "finished": database_time()}


def _close(connection: Connection, window: Window, status: WindowStatus) -> bool:
    still_open = (*_this(window, window.number), windows.c.status == "open")
    return connection.execute(update(windows).where(*still_open).values(_closed(status))).rowcount == 1


def _status(connection: Connection, window: Window) -> str | None:
    return connection.scalar(select(windows.c.status).where(*_this(window, window.number)))


def _put(connection: Connection, state: State, by: str) -> None:
    values = {"keys": dict(state.keys), "zone": state.zone, "changed": database_time(), "changed_by": by}
    if not connection.execute(update(states).where(*_key(state)).values(values)).rowcount:
        key = {"workflow": state.workflow, "job": state.job, "input": state.input}
        connection.execute(insert(states).values(key | values))


def _gone(window: Window) -> JobError:
    return JobError(
        f"window {window.number} of job {window.job} was given up while it was being written",
        code="window-dropped",
        hint=f"what was written stays; see `catchment state show {window.workflow} {window.job}`",
    )


def _windows(connection: Connection, found: Select[Any]) -> tuple[Window, ...]:
    """The windows that a query finds, each with its runs."""
    keys = found.with_only_columns(windows.c.workflow, windows.c.job, windows.c.number).subquery()
    same = and_(*(window_runs.c[name] == keys.c[name] for name in ("workflow", "job", "number")))
    joined = select(window_runs).select_from(window_runs.join(keys, same)).order_by(window_runs.c.position)
    rows = connection.execute(found).all()
    runs: dict[tuple[str, str, int], list[str]] = {}
    for each in connection.execute(joined):
        runs.setdefault((each.workflow, each.job, each.number), []).append(each.run_id)
    return tuple(_window(row, runs.get((row.workflow, row.job, row.number), ())) for row in rows)


def _window(row: Row[Any], runs: Sequence[str]) -> Window:
    inputs = {name: InputWindow(**part) for name, part in row.inputs.items()}
    columns = dict(row._mapping)
    first, last = columns.pop("backfill_first"), columns.pop("backfill_last")
    backfill = Backfill(first, last) if first is not None else None
    return Window(**{**columns, "inputs": inputs, "runs": tuple(runs), "backfill": backfill})

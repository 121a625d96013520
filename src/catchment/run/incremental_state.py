"""Shows, sets, exports and imports the state of incremental jobs. No engine is needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace

from catchment.errors import RequestError
from catchment.project.model import Project
from catchment.store import Lease, Store, open_store, read_store
from catchment.store.states import Cause, State, Window, lease_name
from catchment.store.writes import Entry
from catchment.who import who

LEASE_SECONDS = 30.0
RECENT = 100
"""How many windows are searched for the names of a job's inputs."""
BEGUN: tuple[Cause, ...] = ("run", "backfill")
"""Windows with these causes are opened by a run and finished later."""


@dataclass(frozen=True)
class StateChange:
    """A state before and after a change by a person; with a dry run, what the change would be."""

    workflow: str
    job: str
    input: str
    before: Mapping[str, str]
    after: Mapping[str, str]
    zone: str
    dropped: int
    """How many unfinished windows are dropped."""


def ls(project: Project, workflow: str | None = None) -> tuple[State, ...]:
    """Every state in the metastore."""
    with read_store(project.metastore) as store:
        return store.states.all(workflow)


def show(
    project: Project, workflow: str, job: str, limit: int | None = None
) -> tuple[tuple[State, ...], tuple[Window, ...]]:
    """The states of a job's inputs, and its windows, newest first."""
    with read_store(project.metastore) as store:
        states, windows = store.states.all(workflow, job), store.states.windows(workflow, job, limit=limit)
        if not states and not windows:
            raise _unknown(store, workflow, job)
        return states, windows


def set_keys(
    project: Project, wanted: State, *, dry_run: bool, drop_written: bool = False, new: bool = False
) -> tuple[StateChange, ...]:
    """Set some keys of an input's state. `new` allows a job or an input that has not run yet."""
    with open_store(project.metastore) as store:
        if not new:
            _check_name(store, wanted)
        before = store.states.of_job(wanted.workflow, wanted.job).get(wanted.input)
        known = before or State(wanted.workflow, wanted.job, wanted.input)
        after = replace(known, keys={**known.keys, **wanted.keys}, zone=wanted.zone or known.zone)
        return _changed(store, "set", [after], dry_run=dry_run, drop_written=drop_written)


def reset(
    project: Project, workflow: str, job: str, input: str | None, *, dry_run: bool, drop_written: bool = False
) -> tuple[StateChange, ...]:
    """Remove the state of an input, or of every input of a job: the next run starts like the first one."""
    with open_store(project.metastore) as store:
        known = store.states.of_job(workflow, job)
        wanted = [state for name, state in known.items() if input in (None, name)]
        left = store.states.unfinished(workflow, job, *BEGUN)
        if not wanted and not any(input is None or input in window.inputs for window in left):
            raise _unknown_input(store, workflow, job, input) if input and left else _unknown(store, workflow, job)
        bare = [replace(state, keys={}) for state in wanted] or [State(workflow, job, input or "")]
        return _changed(store, "reset", bare, dry_run=dry_run, drop_written=drop_written)


def export(project: Project, workflow: str | None = None) -> list[Mapping[str, object]]:
    """The states as data for `import_states`."""
    return [
        {key: value for key, value in asdict(state).items() if key in ("workflow", "job", "input", "keys", "zone")}
        for state in ls(project, workflow)
    ]


def import_states(
    project: Project, wanted: Sequence[State], *, dry_run: bool, drop_written: bool = False
) -> tuple[StateChange, ...]:
    """Set whole states that were exported elsewhere."""
    with open_store(project.metastore) as store:
        return _changed(store, "import", wanted, dry_run=dry_run, drop_written=drop_written)


def _changed(
    store: Store, cause: Cause, wanted: Sequence[State], *, dry_run: bool, drop_written: bool
) -> tuple[StateChange, ...]:
    changes = tuple(_change(store, state) for state in wanted)
    for state in wanted:  # checked for all of them before the first one is changed
        _droppable_writes(store, state, drop_written=drop_written)
    if not dry_run:
        for state in wanted:
            with _held(store, state.workflow, state.job) as lease:
                _end_writes(store, state, drop_written=drop_written)
                store.states.change(lease, cause, state, who())
    return changes


def _change(store: Store, state: State) -> StateChange:
    before = store.states.of_job(state.workflow, state.job).get(state.input)
    begun = len(store.states.unfinished(state.workflow, state.job, *BEGUN))
    keys = before.keys if before else {}
    return StateChange(state.workflow, state.job, state.input, keys, state.keys, state.zone, begun)


def _end_writes(store: Store, state: State, *, drop_written: bool) -> None:
    """Abandon the open writes of windows that are dropped, so that they are never committed."""
    for write in _droppable_writes(store, state, drop_written=drop_written):
        store.ledger.abandon(write, {"code": "window-dropped", "message": "its window was dropped", "hint": None})


def _droppable_writes(store: Store, state: State, *, drop_written: bool) -> list[Entry]:
    """The open writes of a job's unfinished windows; raises if rows of a window are, or may be, in a table."""
    found = []
    for window in store.states.unfinished(state.workflow, state.job, *BEGUN):
        for write in store.ledger.beginning_with(f"{window.identity}/{state.job}/"):
            if write.state == "sealed":
                raise RequestError(
                    f"window {window.number} ({window.opened_by}) is sealed and not published yet: {write.write_id}",
                    code="window-sealed",
                    hint="publish it with `catchment recover` or run the job once, then check the state again",
                )
            if _may_be_there(write) and not drop_written:
                raise _written(window, write)
            if write.state == "open":
                found.append(write)
    return found


def _may_be_there(write: Entry) -> bool:
    """Whether rows may be in the table: a write with the format's own commit stays open until that is checked."""
    return write.state == "committed" or (write.state == "open" and not write.intent.buffered)


def _written(window: Window, write: Entry) -> RequestError:
    is_there = "is" if write.state == "committed" else "may be"
    return RequestError(
        f"window {window.number} ({window.opened_by}) is not finished, and its write {write.write_id} {is_there} in "
        f"{write.intent.target}",
        code="window-written",
        hint="run the job once: it finishes the window without writing this again. With --drop-written the window is "
        "dropped, but its rows stay: reading them again would duplicate them",
    )


@contextmanager
def _held(store: Store, workflow: str, job: str) -> Iterator[Lease]:
    """Hold the job's lease, so that no run of the job is active while its state is changed."""
    lease = store.leases.acquire(lease_name(workflow, job), who(), LEASE_SECONDS)
    try:
        yield lease
    finally:
        store.leases.release(lease)


def _check_name(store: Store, wanted: State) -> None:
    """Refuse mistyped names: no run would read such a state, and the job would continue from its old one."""
    inputs = _inputs(store, wanted.workflow, wanted.job)
    if inputs and wanted.input not in inputs:
        raise _unknown_input(store, wanted.workflow, wanted.job, wanted.input)
    if not inputs and store.states.all(wanted.workflow):
        raise _unknown(store, wanted.workflow, wanted.job)


def _inputs(store: Store, workflow: str, job: str) -> set[str]:
    """The inputs for which a job has a state or a recent window."""
    windows = store.states.windows(workflow, job, limit=RECENT)
    return {*store.states.of_job(workflow, job), *(name for window in windows for name in window.inputs if name)}


def _unknown_input(store: Store, workflow: str, job: str, input: str) -> RequestError:
    known = ", ".join(sorted(_inputs(store, workflow, job)))
    return RequestError(
        f"input {input} of job {job} of workflow {workflow} has no state",
        code="no-state",
        hint=f"the job has run with: {known}. `state set --new` sets the state of an input that has not run yet",
    )


def _unknown(store: Store, workflow: str, job: str) -> RequestError:
    known = sorted({f"{state.workflow} {state.job}" for state in store.states.all()})
    there_is = (
        f"these jobs have state: {', '.join(known)}. `state set --new` sets the state of a job that has not run yet"
    )
    hint = there_is if known else "no incremental job has run with this metastore yet"
    return RequestError(f"job {job} of workflow {workflow} has no state", code="no-state", hint=hint)

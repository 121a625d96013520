"""What people ask of incremental state: to see it, to set it, to carry it elsewhere. No engine is needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace

from catchment.errors import RequestError
from catchment.project.model import Project
from catchment.store import Lease, Store, open_store
from catchment.store.states import Cause, State, Window, lease_name
from catchment.store.writes import Entry
from catchment.who import who

LEASE_SECONDS = 30.0
RECENT = 100
"""How many windows are looked at for the names of a job's inputs."""
BEGUN: tuple[Cause, ...] = ("run", "backfill")
"""Windows of these causes are begun before they are done."""


@dataclass(frozen=True)
class Change:
    """A state before and after a person changed it, or would have."""

    workflow: str
    job: str
    input: str
    before: Mapping[str, str]
    after: Mapping[str, str]
    zone: str
    dropped: int
    """Windows that were begun and will not be finished."""


def ls(project: Project, workflow: str | None = None) -> tuple[State, ...]:
    """Every state that the metastore has."""
    with open_store(project.metastore) as store:
        return store.states.all(workflow)


def show(
    project: Project, workflow: str, job: str, limit: int | None = None
) -> tuple[tuple[State, ...], tuple[Window, ...]]:
    """Where the inputs of a job stand, and the windows that brought them there, the newest first."""
    with open_store(project.metastore) as store:
        states, windows = store.states.all(workflow, job), store.states.windows(workflow, job, limit=limit)
        if not states and not windows:
            raise _unknown(store, workflow, job)
        return states, windows


def set_keys(
    project: Project, wanted: State, *, dry_run: bool, drop_written: bool = False, new: bool = False
) -> tuple[Change, ...]:
    """Set keys of an input's state; the others stay. A job or an input that nobody has seen yet is `new`."""
    with open_store(project.metastore) as store:
        if not new:
            _check_name(store, wanted)
        before = store.states.of_job(wanted.workflow, wanted.job).get(wanted.input)
        known = before or State(wanted.workflow, wanted.job, wanted.input)
        after = replace(known, keys={**known.keys, **wanted.keys}, zone=wanted.zone or known.zone)
        return _changed(store, "set", [after], dry_run=dry_run, drop_written=drop_written)


def reset(
    project: Project, workflow: str, job: str, input: str | None, *, dry_run: bool, drop_written: bool = False
) -> tuple[Change, ...]:
    """Forget the state of an input, or of every input of a job: the next run begins like the first one."""
    with open_store(project.metastore) as store:
        known = store.states.of_job(workflow, job)
        wanted = [state for name, state in known.items() if input in (None, name)]
        left = store.states.unfinished(workflow, job, *BEGUN)
        if not wanted and not any(input is None or input in window.inputs for window in left):
            raise _unknown_input(store, workflow, job, input) if input and left else _unknown(store, workflow, job)
        bare = [replace(state, keys={}) for state in wanted] or [State(workflow, job, input or "")]
        return _changed(store, "reset", bare, dry_run=dry_run, drop_written=drop_written)


def export(project: Project, workflow: str | None = None) -> list[Mapping[str, object]]:
    """The states as data that `bring_in` takes."""
    return [
        {key: value for key, value in asdict(state).items() if key in ("workflow", "job", "input", "keys", "zone")}
        for state in ls(project, workflow)
    ]


def bring_in(
    project: Project, wanted: Sequence[State], *, dry_run: bool, drop_written: bool = False
) -> tuple[Change, ...]:
    """Set whole states, as they were exported elsewhere."""
    with open_store(project.metastore) as store:
        return _changed(store, "import", wanted, dry_run=dry_run, drop_written=drop_written)


def _changed(
    store: Store, cause: Cause, wanted: Sequence[State], *, dry_run: bool, drop_written: bool
) -> tuple[Change, ...]:
    changes = tuple(_change(store, state) for state in wanted)
    for state in wanted:  # before the first of them is changed
        _droppable_writes(store, state, drop_written=drop_written)
    if not dry_run:
        for state in wanted:
            with _held(store, state.workflow, state.job) as lease:
                _end_writes(store, state, drop_written=drop_written)
                store.states.change(lease, cause, state, who())
    return changes


def _change(store: Store, state: State) -> Change:
    before = store.states.of_job(state.workflow, state.job).get(state.input)
    begun = len(store.states.unfinished(state.workflow, state.job, *BEGUN))
    keys = before.keys if before else {}
    return Change(state.workflow, state.job, state.input, keys, state.keys, state.zone, begun)


def _end_writes(store: Store, state: State, *, drop_written: bool) -> None:
    """What a dropped window has begun to write must not come after it was dropped."""
    for write in _droppable_writes(store, state, drop_written=drop_written):
        store.ledger.abandon(write, {"code": "window-dropped", "message": "its window was dropped", "hint": None})


def _droppable_writes(store: Store, state: State, *, drop_written: bool) -> list[Entry]:
    """The open writes of a job's unfinished windows; raises where rows of a window are, or may be, in a table."""
    found = []
    for window in store.states.unfinished(state.workflow, state.job, *BEGUN):
        for write in store.ledger.beginning_with(f"{window.identity}/{state.job}/"):
            if write.state == "sealed":
                raise RequestError(
                    f"window {window.number} ({window.opened_by}) is sealed and not published yet: {write.write_id}",
                    code="window-sealed",
                    hint="publish it with `catchment recover`, or run the job once, and then look at the state again",
                )
            if _may_be_there(write) and not drop_written:
                raise _written(window, write)
            if write.state == "open":
                found.append(write)
    return found


def _may_be_there(write: Entry) -> bool:
    """Whether rows are in the table, or may be: what commits by itself is open until somebody has looked there."""
    return write.state == "committed" or (write.state == "open" and not write.intent.buffered)


def _written(window: Window, write: Entry) -> RequestError:
    is_there = "is" if write.state == "committed" else "may be"
    return RequestError(
        f"window {window.number} ({window.opened_by}) is not finished, and its write {write.write_id} {is_there} in "
        f"{write.intent.target}",
        code="window-written",
        hint="run the job once: it finishes the window without writing this again. With --drop-written the window is "
        "dropped, its rows stay, and whatever reads them again doubles them",
    )


@contextmanager
def _held(store: Store, workflow: str, job: str) -> Iterator[Lease]:
    """The job's lease: nobody may be running it while its state is changed by hand."""
    lease = store.leases.acquire(lease_name(workflow, job), who(), LEASE_SECONDS)
    try:
        yield lease
    finally:
        store.leases.release(lease)


def _check_name(store: Store, wanted: State) -> None:
    """A state under a mistyped name is read by nobody, and the job goes on from where it was."""
    inputs = _inputs(store, wanted.workflow, wanted.job)
    if inputs and wanted.input not in inputs:
        raise _unknown_input(store, wanted.workflow, wanted.job, wanted.input)
    if not inputs and store.states.all(wanted.workflow):
        raise _unknown(store, wanted.workflow, wanted.job)


def _inputs(store: Store, workflow: str, job: str) -> set[str]:
    """The inputs of a job that it has, or lately had, a state or a window of."""
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
    there_is = f"there is state of: {', '.join(known)}. `state set --new` sets that of a job that has not run yet"
    hint = there_is if known else "no incremental job has run with this metastore yet"
    return RequestError(f"job {job} of workflow {workflow} has no state", code="no-state", hint=hint)

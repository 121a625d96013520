"""State that is changed by hand: of a job and an input that there are, and no window is dropped that has written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from catchment.errors import RequestError
from catchment.project.model import Project
from catchment.run import incremental_state
from catchment.store import open_store
from catchment.store.states import InputWindow, State, Window, lease_name
from tests.ledgers import Filled
from tests.unit.run.conftest import Lab

JOB = ("flow", "load")
WRITE = "r1/load/out"
WANTED = State(*JOB, "orders", {"start": "7"}, "")

StateChange = Callable[..., tuple[incremental_state.StateChange, ...]]
CHANGES: dict[str, StateChange] = {
    "set": lambda project, **how: incremental_state.set_keys(project, WANTED, **how),
    "reset": lambda project, **how: incremental_state.reset(project, *JOB, "orders", **how),
    "import": lambda project, **how: incremental_state.import_states(project, [replace(WANTED, zone="UTC")], **how),
}
every_change = pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)


@pytest.fixture
def project(lab: Lab) -> Project:
    return lab.project


@pytest.fixture
def filled(project: Project) -> Iterator[Filled]:
    """A job whose engine died in the middle of a window."""
    with open_store(project.metastore) as store:
        lease = store.leases.acquire(lease_name(*JOB), "me", 600.0)
        part = InputWindow({"start": "1", "end": "2"}, {"start": "2"}, "UTC")
        store.states.open(lease, [Window(*JOB, 0, "run", "open", "r1", {"orders": part}, runs=("r1",))])
        store.leases.release(lease)
        yield Filled(store)


def statuses(filled: Filled) -> list[str]:
    return [window.status for window in filled.store.states.windows(*JOB) if window.cause == "run"]


@every_change
@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize("left", ["committed", "open in a log of its own", "sealed"])
def test_a_window_whose_rows_are_or_may_be_in_the_table_is_not_dropped(
    project: Project, filled: Filled, change: StateChange, left: str, *, dry_run: bool
) -> None:
    if left == "committed":
        filled.commit(WRITE, 1)
    elif left == "sealed":
        filled.seal(WRITE)
    else:
        filled.open(WRITE, buffered=False)
    with pytest.raises(RequestError) as caught:
        change(project, dry_run=dry_run)
    assert caught.value.code == ("window-sealed" if left == "sealed" else "window-written")
    assert WRITE in caught.value.message
    assert (statuses(filled), filled.store.states.of_job(*JOB)) == (["open"], {})
    assert filled.ledger.state(WRITE) == left.partition(" ")[0]


@every_change
def test_whoever_knows_better_drops_what_is_written(project: Project, filled: Filled, change: StateChange) -> None:
    filled.commit(WRITE, 1)
    filled.open("r1/load/second", buffered=False)
    [changed] = change(project, dry_run=False, drop_written=True)
    assert (changed.dropped, statuses(filled)) == (1, ["dropped"])
    assert filled.states(WRITE, "r1/load/second") == ["committed", "abandoned"]


@every_change
def test_what_is_promised_is_not_dropped_by_anybody(project: Project, filled: Filled, change: StateChange) -> None:
    filled.seal(WRITE)
    with pytest.raises(RequestError) as caught:
        change(project, dry_run=False, drop_written=True)
    assert caught.value.code == "window-sealed"


@every_change
def test_a_window_of_which_nothing_is_written_is_dropped(project: Project, filled: Filled, change: StateChange) -> None:
    filled.open(WRITE)
    [changed] = change(project, dry_run=False)
    assert (changed.dropped, statuses(filled), filled.ledger.state(WRITE)) == (1, ["dropped"], "abandoned")


def test_of_several_states_none_is_changed_where_one_is_refused(project: Project, filled: Filled) -> None:
    filled.commit(WRITE, 1)
    other = State("flow", "another", "orders", {"start": "1"})
    with pytest.raises(RequestError) as caught:
        incremental_state.import_states(project, [other, WANTED], dry_run=False)
    assert caught.value.code == "window-written"
    assert filled.store.states.all() == ()


@pytest.mark.parametrize(("job", "input", "meant"), [("load", "oders", "orders"), ("laod", "orders", "load")])
def test_a_name_that_nobody_knows_is_not_set_unless_it_is_new(
    project: Project, filled: Filled, job: str, input: str, meant: str
) -> None:
    incremental_state.set_keys(project, WANTED, dry_run=False)
    before = filled.store.states.all()
    mistyped = State("flow", job, input, {"start": "1"}, "")
    for dry_run in (True, False):
        with pytest.raises(RequestError) as caught:
            incremental_state.set_keys(project, mistyped, dry_run=dry_run)
        assert (caught.value.code, meant in (caught.value.hint or "")) == ("no-state", True)
    assert filled.store.states.all() == before
    incremental_state.set_keys(project, mistyped, dry_run=False, new=True)
    assert len(filled.store.states.all()) == len(before) + 1


def test_an_input_that_only_a_window_knows_may_be_set(project: Project, filled: Filled) -> None:
    [changed] = incremental_state.set_keys(project, WANTED, dry_run=True)
    assert changed.dropped == 1
    with pytest.raises(RequestError) as caught:
        incremental_state.set_keys(project, replace(WANTED, input="oders"), dry_run=True)
    assert caught.value.code == "no-state"


def test_where_nothing_is_known_of_a_workflow_every_name_may_be_set(project: Project, filled: Filled) -> None:
    [changed] = incremental_state.set_keys(project, replace(WANTED, workflow="another"), dry_run=True)
    assert changed.after == {"start": "7"}


def test_resetting_an_input_that_there_is_not_drops_nothing(project: Project, filled: Filled) -> None:
    with pytest.raises(RequestError) as caught:
        incremental_state.reset(project, *JOB, "oders", dry_run=False)
    assert (caught.value.code, "orders" in (caught.value.hint or "")) == ("no-state", True)
    assert statuses(filled) == ["open"]
    [changed] = incremental_state.reset(project, *JOB, "orders", dry_run=False)
    assert (changed.dropped, statuses(filled)) == (1, ["dropped"])

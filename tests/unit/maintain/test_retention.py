"""Where incremental jobs go on in the history of a table, by their states and by the windows that they have begun."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from catchment.maintain.retention import followers
from catchment.store import Store, open_store
from catchment.store.states import InputWindow, State, Window, lease_name

HISTORY = {str(number): number for number in (11, 12, 13)}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path}/metastore.db") as store:
        yield store


def stand(store: Store, job: str, **keys: str) -> None:
    """A job goes on from somewhere."""
    lease = store.leases.acquire(lease_name("flow", job), "me", 60.0)
    store.states.change(lease, "set", State("flow", job, "source", keys), "me")
    store.leases.release(lease)


def begin(store: Store, job: str, **values: str) -> None:
    """A run of a job begins a window, and is not heard from again."""
    lease = store.leases.acquire(lease_name("flow", job), "me", 60.0)
    part = InputWindow(values, {"snapshot": "13"}, "UTC")
    store.states.open(lease, [Window("flow", job, 0, "run", "open", f"run-{job}", {"source": part})])
    store.leases.release(lease)


def found(store: Store) -> set[tuple[str, int]]:
    return {(each.job, each.snapshot) for each in followers(store.states, HISTORY)}


def test_a_state_follows_the_table_whose_snapshot_it_has(store: Store) -> None:
    stand(store, "here", snapshot="12")
    stand(store, "elsewhere", snapshot="99")
    stand(store, "delta", snapshot="12@6f1c")
    stand(store, "by-column", start="2024-05-01 00:00:00", end="12")
    assert found(store) == {("here", 12)}


def test_a_window_that_was_begun_is_read_again_from_its_beginning(store: Store) -> None:
    begin(store, "first", to="13")
    begin(store, "since", **{"from": "11", "to": "13"})
    stand(store, "later", snapshot="12")
    begin(store, "later", **{"from": "12", "to": "13"})
    begin(store, "by-column", start="11", end="12")
    assert found(store) == {("first", 13), ("since", 11), ("later", 12)}
    assert len(followers(store.states, HISTORY)) == 3


def test_what_is_reset_follows_nothing(store: Store) -> None:
    stand(store, "here", snapshot="12")
    begin(store, "here", **{"from": "12", "to": "13"})
    stand(store, "here")
    assert found(store) == set()

"""Opening a metastore: made if missing, migrated once by however many processes, refused where it cannot be used."""

from __future__ import annotations

import multiprocessing
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest
from sqlalchemy import inspect, text

from catchment.errors import CatchmentError, RequestError, SetupError
from catchment.store import Store, open_store, schema
from catchment.store.migrations import MIGRATIONS, NEWEST

PROCESSES = 6


def _open_together(url: str, barrier: Barrier) -> None:
    barrier.wait()
    with open_store(url) as store:
        store.leases.acquire("anything", "somebody", 0)


def test_a_fresh_store_is_made_with_its_directory(url: str, tmp_path: Path) -> None:
    open_store(url).close()
    assert (tmp_path / "home" / "metastore.db").exists()


def test_sqlite_is_set_up_for_several_processes(store: Store) -> None:
    with store.database.reading() as connection:
        pragma = {name: connection.scalar(text(f"PRAGMA {name}")) for name in ("journal_mode", "busy_timeout")}
        assert pragma == {"journal_mode": "wal", "busy_timeout": 60_000}
        assert connection.scalar(text("PRAGMA foreign_keys")) == 1


def test_queries_know_exactly_the_columns_that_the_migrations_leave(store: Store) -> None:
    declared = [schema.runs, schema.jobs, schema.attempts, schema.outputs, schema.events, schema.leases]
    with store.database.reading() as connection:
        inspector = inspect(connection)
        for table in declared:
            assert [c["name"] for c in inspector.get_columns(table.name)] == [c.name for c in table.columns]
        assert set(inspector.get_table_names()) == {table.name for table in declared} | {"migrations"}


def test_migrations_are_numbered_without_gaps() -> None:
    assert list(MIGRATIONS) == list(range(1, NEWEST + 1))


def test_many_processes_open_a_fresh_store_at_once(url: str) -> None:
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(PROCESSES)
    processes = [context.Process(target=_open_together, args=(url, barrier)) for _ in range(PROCESSES)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * PROCESSES
    with open_store(url) as store, store.database.reading() as connection:
        assert connection.scalars(text("SELECT number FROM migrations ORDER BY number")).all() == list(MIGRATIONS)
        assert connection.scalar(text("SELECT fence FROM leases")) == PROCESSES


def test_an_older_store_is_brought_forward(url: str) -> None:
    with open_store(url) as store, store.database.writing() as connection:
        connection.execute(text("DROP TABLE leases"))
        connection.execute(text("DELETE FROM migrations WHERE number = 2"))
    with open_store(url) as store:
        assert store.leases.acquire("a", "me", 10).fence == 1


def test_a_store_of_a_newer_catchment_is_refused(url: str) -> None:
    with open_store(url) as store, store.database.writing() as connection:
        connection.execute(text(f"INSERT INTO migrations VALUES ({NEWEST + 1})"))
    with pytest.raises(SetupError) as caught:
        open_store(url)
    assert caught.value.code == "metastore-too-new"


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "metastore.db").write_text("this is not a database, and it is longer than the header of one. " * 40)
    with pytest.raises(SetupError) as caught:
        open_store(f"sqlite:///{tmp_path}/metastore.db")
    assert caught.value.code == "metastore-damaged"


def test_a_place_where_nothing_can_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SetupError) as caught:
        open_store(f"sqlite:///{tmp_path}/file/metastore.db")
    assert caught.value.code == "metastore-unreadable"


def test_a_directory_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CatchmentError) as caught:
        open_store(f"sqlite:///{tmp_path}")
    assert caught.value.code in {"metastore-unreadable", "metastore-unavailable"}  # Python 3.10 does not say which


@pytest.mark.parametrize(
    ("url", "code"), [("no url", "bad-metastore"), ("postgresql://host/db", "unsupported-metastore")]
)
def test_addresses_that_are_not_sqlite_are_refused(url: str, code: str) -> None:
    with pytest.raises(RequestError) as caught:
        open_store(url)
    assert caught.value.code == code

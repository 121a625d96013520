"""Migrations: a fresh store and an older one come to the newest form, whoever and how many open them."""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing.synchronize import Barrier

import pytest
from sqlalchemy import Connection, inspect, text
from sqlalchemy.sql.expression import TableClause

from catchment.errors import SetupError
from catchment.run_model import Backfill, OutputResult, RunRequest
from catchment.store import Store, migrations, open_store, schema
from catchment.store.database import connect
from catchment.store.migrations import MIGRATIONS, NEWEST, Migration
from catchment.store.records import EventRecord
from catchment.store.runs import lease_name
from tests.contract.store.processes import answers_of
from tests.contract.store.writes import CONTENTS, TABLE, intent

PROCESSES = 4


def _open(url: str, number: int, barrier: Barrier) -> int:
    barrier.wait()
    with open_store(url) as store:
        return store.leases.acquire("anything", f"process {number}", 0).fence


def _add_remark(connection: Connection) -> None:
    """A migration as the next one may be."""
    connection.execute(text("ALTER TABLE runs ADD COLUMN remark TEXT NOT NULL DEFAULT 'none'"))


def _become_newer(change: Callable[[object, str, object], None], migration: Migration = _add_remark) -> None:
    """Let this process be a Catchment with one more migration."""
    change(migrations, "MIGRATIONS", {**MIGRATIONS, NEWEST + 1: migration})
    change(migrations, "NEWEST", NEWEST + 1)


def _open_as_newer(url: str, number: int, barrier: Barrier) -> int:
    _become_newer(setattr)
    return _open(url, number, barrier)


def _numbers(url: str) -> list[int]:
    database = connect(url)
    with database.reading() as connection:
        numbers = list(connection.scalars(text("SELECT number FROM migrations ORDER BY number")))
    database.close()
    return numbers


def test_migrations_are_numbered_without_gaps() -> None:
    assert list(MIGRATIONS) == list(range(1, NEWEST + 1))


def test_queries_know_exactly_the_columns_that_the_migrations_leave(store: Store) -> None:
    declared = [value for value in vars(schema).values() if isinstance(value, TableClause)]
    assert len(declared) > 8
    with store.database.reading() as connection:
        inspector = inspect(connection)
        for table in declared:
            assert [c["name"] for c in inspector.get_columns(table.name)] == [c.name for c in table.columns]
        assert set(inspector.get_table_names()) == {table.name for table in declared} | {"migrations"}


@pytest.mark.slow
def test_many_processes_open_a_fresh_store_at_once(url: str) -> None:
    fences = answers_of(_open, url, processes=PROCESSES)
    assert sorted(fences) == list(range(1, PROCESSES + 1))
    assert _numbers(url) == list(MIGRATIONS)


@pytest.mark.slow
def test_many_processes_open_an_older_store_at_once(url: str) -> None:
    with open_store(url) as old:
        old.leases.acquire("anything", "the one before", 0)
    assert _numbers(url) == list(MIGRATIONS)
    fences = answers_of(_open_as_newer, url, processes=PROCESSES)
    assert sorted(fences) == list(range(2, PROCESSES + 2))
    assert _numbers(url) == [*MIGRATIONS, NEWEST + 1]


def test_an_older_store_keeps_its_rows_and_gets_what_is_new(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    written = OutputResult("out", TABLE, 3, 1, str(2**62), "r1/a/out")
    asked = RunRequest("2024", windows=2, backfill=Backfill("2024-01-01 00:00:00", "2024-07-01"))
    told = EventRecord(1.0, "run-started", None, None, None, {"jobs": ["a"]})
    with open_store(url) as old:
        lease = old.leases.acquire(lease_name("r1"), "me", 600.0)
        progress = old.progress(lease, "r1")
        progress.begin(asked, workflow="w", file="w.yaml", job_names=["a"], at=100.0)
        progress.attempt_begins("a", 1, "default", 101.0)
        progress.job_ends("a", 1, "succeeded", at=102.0, written=[written])
        old.events.append(lease, "r1", told)
        old.ledger.open(intent())
        before = (old.runs.jobs("r1"), old.runs.attempts("r1"), old.events.of_run("r1"), old.ledger.find("r1/job/out"))
    _become_newer(monkeypatch.setattr)
    with open_store(url) as store:
        runs, ledger = store.runs, store.ledger
        after = (runs.jobs("r1"), runs.attempts("r1"), store.events.of_run("r1"), ledger.find("r1/job/out"))
        assert after == before
        assert runs.jobs("r1")[0].outputs == (written,)
        assert [run.request for run in runs.newest(10)] == [asked]
        store.progress(lease, "r1").finish("succeeded", 103.0)
        ledger.seal(intent(), CONTENTS)
        assert [write.write_id for write in ledger.pending(TABLE, limit=10)] == [intent().write_id]
        with store.database.reading() as connection:
            assert connection.scalar(text("SELECT remark FROM runs")) == "none"


def test_a_migration_that_fails_leaves_the_store_as_it_was(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    open_store(url).close()

    def fail(connection: Connection) -> None:
        _add_remark(connection)
        raise RuntimeError

    _become_newer(monkeypatch.setattr, fail)
    with pytest.raises(RuntimeError):
        open_store(url)
    monkeypatch.undo()
    assert _numbers(url) == list(MIGRATIONS)
    with open_store(url) as store, store.database.reading() as connection:
        assert "remark" not in [column["name"] for column in inspect(connection).get_columns("runs")]


def test_a_store_that_is_up_to_date_is_left_alone(url: str) -> None:
    with open_store(url) as store:
        store.ledger.open(intent())
    with open_store(url) as store:
        assert store.ledger.state(intent().write_id) == "open"


def test_a_store_of_a_newer_catchment_is_refused(url: str) -> None:
    with open_store(url) as store, store.database.writing() as connection:
        connection.execute(text(f"INSERT INTO migrations VALUES ({NEWEST + 1})"))
    with pytest.raises(SetupError) as caught:
        open_store(url)
    assert caught.value.code == "metastore-too-new"

"""Migrations: a fresh store and an older one come to the newest form, whoever and how many open them."""

from __future__ import annotations

from multiprocessing.synchronize import Barrier

import pytest
from sqlalchemy import inspect, text
from sqlalchemy.sql.expression import TableClause

from catchment.commit.ledger import Ledger
from catchment.errors import SetupError
from catchment.run_model import Backfill, OutputResult
from catchment.store import Store, migrations, open_store, schema
from catchment.store.database import connect
from catchment.store.migrations import MIGRATIONS, NEWEST
from catchment.store.records import EventRecord
from catchment.store.runs import lease_name
from tests.contract.store.processes import answers_of
from tests.contract.store.writes import CONTENTS, TABLE, intent
from tests.ledgers import Filled

PROCESSES = 4
PLACES = 10
"""The migration that put the writes of files under their places."""
LEDGER = 3
"""The migration that brought the ledger; stores of the issue before have those before it."""
ASKED = 12
"""The migration that lets a run remember its range."""


def _open(url: str, number: int, barrier: Barrier) -> int:
    barrier.wait()
    with open_store(url) as store:
        return store.leases.acquire("anything", f"process {number}", 0).fence


def _as_it_was(url: str, monkeypatch: pytest.MonkeyPatch, newest: int = LEDGER - 1) -> Store:
    """A store as an older Catchment makes it; if nothing is said, one without the ledger."""
    with monkeypatch.context() as past:
        past.setattr(migrations, "NEWEST", newest)
        return open_store(url)


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


def test_many_processes_open_a_fresh_store_at_once(url: str) -> None:
    fences = answers_of(_open, url, processes=PROCESSES)
    assert sorted(fences) == list(range(1, PROCESSES + 1))
    assert _numbers(url) == list(MIGRATIONS)


def test_many_processes_open_an_older_store_at_once(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with _as_it_was(url, monkeypatch) as old:
        old.leases.acquire("anything", "the one before", 0)
    assert _numbers(url) == list(range(1, LEDGER))
    fences = answers_of(_open, url, processes=PROCESSES)
    assert sorted(fences) == list(range(2, PROCESSES + 2))
    assert _numbers(url) == list(MIGRATIONS)


def test_a_store_of_the_issue_before_keeps_its_rows_and_gets_the_ledger(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = OutputResult("out", TABLE, 3, 1, 2**62, "r1/a/out")
    told = EventRecord(1.0, "run-started", None, None, None, {"jobs": ["a"]})
    with _as_it_was(url, monkeypatch) as old:
        lease = old.leases.acquire(lease_name("r1"), "me", 600.0)
        progress = old.progress(lease, "r1")
        with old.database.writing() as connection:
            connection.execute(
                text("INSERT INTO runs VALUES ('r1', 'w', 'w.yaml', 'running', '2024', 100, NULL, NULL)")
            )
            connection.execute(text("INSERT INTO jobs VALUES ('r1', 'a', 0, 'queued', 0, NULL, NULL, NULL)"))
        progress.attempt_begins("a", 1, "default", 101.0)
        progress.job_ends("a", 1, "succeeded", at=102.0, written=[written])
        old.events.append(lease, "r1", [told])
        before = (old.runs.jobs("r1"), old.runs.attempts("r1"), old.events.of_run("r1"))
    with open_store(url) as store:
        assert (store.runs.jobs("r1"), store.runs.attempts("r1"), store.events.of_run("r1")) == before
        assert store.runs.jobs("r1")[0].outputs == (written,)
        run = store.runs.find("r1")
        assert run is not None
        assert run.request.windows == 1
        store.progress(lease, "r1").finish("succeeded", 103.0)
        ledger = Ledger(store.database)
        ledger.open(intent())
        ledger.seal(intent(), CONTENTS)
        assert [write.write_id for write in ledger.pending(TABLE, limit=10)] == [intent().write_id]


def test_writes_of_files_come_under_their_place_in_the_order_of_their_seals(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two addresses of one place had two queues, each with a first seal."""
    with _as_it_was(url, monkeypatch, PLACES - 1) as old:
        filled = Filled(old)
        for write_id, target in (("r/j/1", "drop:none/a/b"), ("r/j/2", "drop:a/b"), ("r/j/3", "drop:none/a/b")):
            stage = f"/drop/a/b/.catchment-stage/{write_id.replace('/', '.')}"
            filled.seal(write_id, target=f"dataos://{target}", buffer=stage)
        filled.commit("r/j/0", None, target="dataos://drop:none/a/b", buffer="/drop/a/b/.catchment-stage/r.j.0")
        filled.abandon("r/j/x", target="dataos://drop:a/b", buffer="/drop/a/b/.catchment-stage/r.j.x")
        filled.seal("r/j/table")
    with open_store(url) as store:
        filled = Filled(store)
        assert [write.write_id for write in filled.ledger.pending("/drop/a/b", limit=9)] == ["r/j/1", "r/j/2", "r/j/3"]
        filled.seal("r/j/4", target="/drop/a/b", buffer="/drop/a/b/.catchment-stage/r.j.4")
        assert filled.ledger.pending("/drop/a/b", limit=9)[-1].write_id == "r/j/4"
        assert filled.find("r/j/0").intent.target == "/drop/a/b"
        assert filled.ledger.leftovers("/drop/a/b") == (("r/j/x", "/drop/a/b/.catchment-stage/r.j.x"),)
        assert filled.ledger.targets() == ("/drop/a/b", filled.find("r/j/table").intent.target)


def test_runs_from_before_know_the_range_that_they_go_through(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = "INSERT INTO runs VALUES (:id, 'w', 'w.yaml', 'failed', '2024', 100, NULL, NULL, 1)"
    window = "INSERT INTO windows VALUES ('w', 'a', 1, 'backfill', 'open', 'r1.b1', '{}', 100, NULL, :by, NULL)"
    with _as_it_was(url, monkeypatch, ASKED - 1) as old, old.database.writing() as connection:
        for id in ("r1", "r"):
            connection.execute(text(run), {"id": id})
        connection.execute(text(window), {"by": "run r1: 2024-01-01 00:00:00..2024-07-01"})
    with open_store(url) as store:
        known = {run.id: run.request.backfill for run in store.runs.newest(10)}
        assert known == {"r1": Backfill("2024-01-01 00:00:00", "2024-07-01"), "r": None}


def test_a_store_that_is_up_to_date_is_left_alone(url: str) -> None:
    with open_store(url) as store:
        Ledger(store.database).open(intent())
    with open_store(url) as store:
        assert Ledger(store.database).state(intent().write_id) == "open"


def test_a_store_of_a_newer_catchment_is_refused(url: str) -> None:
    with open_store(url) as store, store.database.writing() as connection:
        connection.execute(text(f"INSERT INTO migrations VALUES ({NEWEST + 1})"))
    with pytest.raises(SetupError) as caught:
        open_store(url)
    assert caught.value.code == "metastore-too-new"

"""Stores, catalogs and metastores that do not answer for a while: a write comes late, or fails and comes next time."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from tests.concurrency.invariants import check, ids
from tests.concurrency.waiting import until
from tests.matrices import EXHAUSTIVE, exhaustive
from tests.servers.gate import Gate, Trouble
from tests.servers.postgres import PostgresServer
from tests.servers.s3 import S3Server
from tests.servers.wire import Wire
from tests.stores.lakes import Lake, appending

DATA, SEAL, PUBLISH = r"PUT .*/data/.*\.parquet", r"HEAD .*/data/.*\.parquet", r"PUT .*/metadata/.*\.avro"
FOR_EVER = 600.0
pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def opened_gate(gate: Gate) -> Iterator[None]:
    """Whatever a test does to it, the gate is open again for the next one."""
    yield
    gate.open()


def test_a_store_that_says_503_for_a_while_delays_a_write(on_s3: Lake, gate: Gate, fresh: str) -> None:
    on_s3.here.run(appending(fresh, 0, "before", "gated"))
    for number, moment in enumerate((DATA, SEAL, PUBLISH), start=1):
        gate.close("503", at=moment, seconds=2)
        on_s3.here.run(appending(fresh, 10 * number, f"during-{number}", "gated"))
        assert gate.open()
    assert ids(on_s3.there, fresh, "gated") == list(range(40))
    check(on_s3.there, fresh, "gated")


@pytest.mark.parametrize(
    ("depot", "moment", "trouble"),
    [
        pytest.param("hasty", DATA, "503", id="data"),
        pytest.param("hasty", DATA, "hang-up", id="data-hang-up", marks=EXHAUSTIVE),
        pytest.param("hasty", SEAL, "503", id="seal", marks=EXHAUSTIVE),
        pytest.param("hasty", SEAL, "hang-up", id="seal-hang-up"),
        pytest.param("iceberg-s3", DATA, "503", id="iceberg-data"),
        pytest.param("iceberg-s3", SEAL, "hang-up", id="iceberg-seal-hang-up", marks=EXHAUSTIVE),
    ],
)
def test_a_store_that_stays_away_fails_a_write_and_the_next_attempt_completes_it(
    on_s3: Lake, gate: Gate, fresh: str, depot: str, moment: str, trouble: Trouble
) -> None:
    here, there = on_s3.here, on_s3.there
    here.run(appending(fresh, 0, "before", depot))
    gate.close(trouble, at=moment, seconds=FOR_EVER)
    failed = here.fail(appending(fresh, 10, "during", depot), run=f"r-{fresh}")
    assert (failed.code, failed.retryable) == ("storage-unavailable", True)
    assert failed.hint
    assert gate.open()
    assert ids(there, fresh, depot) == list(range(10))
    here.run(appending(fresh, 10, "during", depot), run=f"r-{fresh}", number=2)
    there.run(appending(fresh, 10, "during", depot), run=f"r-{fresh}", number=3)
    assert ids(there, fresh, depot) == list(range(20))
    check(here, fresh, depot)


@pytest.mark.parametrize("trouble", ["hang-up", *exhaustive("503")])
def test_what_is_sealed_is_published_when_the_store_is_back(
    on_s3: Lake, gate: Gate, fresh: str, trouble: Trouble
) -> None:
    on_s3.here.run(appending(fresh, 0, "before", "hasty"))
    gate.close(trouble, at=PUBLISH, seconds=5)
    [report] = on_s3.here.run(appending(fresh, 10, "during", "hasty"))
    assert report.rows == 10
    assert gate.open()
    assert ids(on_s3.there, fresh, "hasty") == list(range(20))
    check(on_s3.here, fresh, "hasty")


@pytest.mark.exhaustive
def test_a_store_that_says_nothing_for_a_while(on_s3: Lake, store: S3Server, fresh: str) -> None:
    on_s3.here.run(appending(fresh, 0, "before"))
    os.kill(store.process.pid, signal.SIGSTOP)
    try:
        pending = on_s3.here.start_job(appending(fresh, 10, "during"))
        pending.wait_for("writing")
        until(store.has_unread)
        assert pending.replies.empty()
    finally:
        os.kill(store.process.pid, signal.SIGCONT)
    assert pending.done()[0].rows == 10
    assert ids(on_s3.there, fresh) == list(range(20))
    check(on_s3.there, fresh)


@pytest.mark.exhaustive
def test_connections_that_are_cut_in_the_middle(on_s3: Lake, database: PostgresServer, fresh: str) -> None:
    """Those of the catalog and those of the metastore, again and again while four jobs write."""
    on_s3.here.run(appending(fresh, 0, "before"))
    pending = [on_s3.here.start_job(appending(fresh, 10 * n, f"job-{n}"), run=f"r-{fresh}") for n in range(1, 5)]
    for _ in range(6):
        cut_connections(database)
        time.sleep(0.3)
    for each in pending:
        assert each.done()[0].rows == 10
    assert ids(on_s3.here, fresh) == list(range(50))
    check(on_s3.here, fresh)


def cut_connections(database: PostgresServer) -> None:
    """End every connection but our own."""
    others = "FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute(f"SELECT pg_terminate_backend(pid) {others}".encode())


def test_a_swap_whose_answer_is_lost_on_the_wire_keeps_its_files(on_s3: Lake, wire: Wire, fresh: str) -> None:
    """The driver sends it again by itself, and then takes its own success for somebody else's."""
    on_s3.here.run(appending(fresh, 0, "before", "wired"))
    wire.lose_answer_to(b"UPDATE iceberg_tables")
    [report] = on_s3.here.run(appending(fresh, 10, "during", "wired"))
    assert wire.has_lost
    assert report.snapshot_id is not None
    assert ids(on_s3.there, fresh, "wired") == list(range(20))
    check(on_s3.there, fresh, "wired")


def test_a_connection_to_the_catalog_that_says_nothing_more_is_given_up(on_s3: Lake, wire: Wire, fresh: str) -> None:
    """A half-open connection: without a time-out, the holder of the table's lease would wait for ever."""
    on_s3.here.run(appending(fresh, 0, "before", "wired"))
    wire.keep_answer_to(b"UPDATE iceberg_tables")
    [report] = on_s3.here.run(appending(fresh, 10, "during", "wired"))
    assert wire.has_lost
    assert report.snapshot_id is not None
    assert ids(on_s3.there, fresh, "wired") == list(range(20))
    check(on_s3.there, fresh, "wired")


def test_a_catalog_that_is_busy(on_s3: Lake, fresh: str) -> None:
    """Somebody holds the SQLite file of the catalog, and its clients do not wait: the swap is tried again."""
    on_s3.here.run(appending(fresh, 0, "before", "impatient"))
    catalog = next(depot.catalog for depot in on_s3.depots if depot.name == "impatient")
    assert catalog
    with closing(sqlite3.connect(str(catalog.database), isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        pending = on_s3.there.start_job(appending(fresh, 10, "during", "impatient"), run=f"r-{fresh}")
        await_swap(on_s3, f"r-{fresh}/during/out")
        assert ids(on_s3.here, fresh, "impatient") == list(range(10))
        holder.execute("ROLLBACK")
    assert pending.done()[0].rows == 10
    assert ids(on_s3.here, fresh, "impatient") == list(range(20))
    check(on_s3.here, fresh, "impatient")


def await_swap(lake: Lake, write_id: str) -> None:
    """Wait until somebody is about to publish a sealed write."""
    with lake.ledger() as filled:
        until(lambda: (write := filled.ledger.find(write_id)) is not None and write.tried)

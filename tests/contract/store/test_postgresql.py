"""A metastore on a PostgreSQL server: what comes and goes with a server, and what it refuses."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection, text

from catchment.commit.writer import Writer
from catchment.errors import CatchmentError, MetastoreUnavailable, RequestError, SetupError, StorageUnavailable
from catchment.store import PATIENCE_SECONDS, Store, open_store
from catchment.store.database import CONNECTIONS, Database
from tests.contract.store.writes import CONTENTS, TABLE, intent
from tests.ledgers import Filled
from tests.servers.postgres import GUARDED, PostgresServer

PASSWORD = "s3cret/p@ss word"
WRITTEN = "s3cret%2Fp%40ss%20word"


def _ask(server: PostgresServer, *statements: str) -> None:
    with psycopg.connect(server.url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


@contextmanager
def _paused(server: PostgresServer) -> Iterator[None]:
    server.pause()
    try:
        yield
    finally:
        server.start()


@pytest.fixture
def store(schema_url: str) -> Iterator[Store]:
    with open_store(schema_url) as store:
        yield store


@pytest.fixture
def guarded(server: PostgresServer) -> Iterator[str]:
    """A database of its own for a user who needs a password and is no superuser; gives the database's name."""
    _ask(
        server,
        f"CREATE ROLE {GUARDED} LOGIN PASSWORD '{PASSWORD}'",
        f"CREATE DATABASE guarded_metastore OWNER {GUARDED}",
    )
    yield "guarded_metastore"
    _ask(server, "DROP DATABASE guarded_metastore WITH (FORCE)", f"DROP ROLE {GUARDED}")


def _refused(url: str) -> CatchmentError:
    with pytest.raises(CatchmentError) as caught:
        open_store(url)
    told = f"{caught.value.message} {caught.value.hint} {caught.value.detail} {caught.value}"
    assert not any(secret in told for secret in (PASSWORD, WRITTEN, "wrong-pass"))
    assert "\n" not in caught.value.message
    assert caught.value.hint
    return caught.value


def test_the_right_password_opens_and_is_never_shown(server: PostgresServer, guarded: str) -> None:
    with open_store(server.url_of(guarded, f"{GUARDED}:{WRITTEN}")) as store:
        assert store.leases.acquire("a", "me", 10).fence == 1
        assert store.database.name == f"postgresql://{GUARDED}:***@127.0.0.1:{server.port}/{guarded}"
    with open_store(f"{server.url_of(guarded, GUARDED)}?password={WRITTEN}") as store:
        assert store.database.name == f"postgresql://{GUARDED}@127.0.0.1:{server.port}/{guarded}"


@pytest.mark.parametrize("user", [f"{GUARDED}:wrong-pass", GUARDED, "nobody"], ids=["wrong", "none", "no such user"])
def test_who_is_not_let_in_is_told_so(server: PostgresServer, guarded: str, user: str) -> None:
    error = _refused(server.url_of(guarded, user))
    assert (type(error), error.code) == (SetupError, "metastore-unreadable")


def test_a_database_that_does_not_exist_is_named(server: PostgresServer) -> None:
    error = _refused(server.url_of("no_such_database"))
    assert (type(error), error.code) == (SetupError, "metastore-unreadable")
    assert "no_such_database" in error.message


def test_a_user_without_rights_is_told_so(server: PostgresServer, guarded: str) -> None:
    _ask(server, f"ALTER DATABASE {guarded} OWNER TO postgres")
    error = _refused(server.url_of(guarded, f"{GUARDED}:{WRITTEN}"))
    assert (type(error), error.code) == (SetupError, "metastore-unreadable")
    assert "GRANT" in str(error.hint)


def test_a_server_that_takes_no_writes_is_told_so(server: PostgresServer, guarded: str) -> None:
    url = server.url_of(guarded, f"{GUARDED}:{WRITTEN}")
    open_store(url).close()
    _ask(server, f"ALTER DATABASE {guarded} SET default_transaction_read_only = on")
    with open_store(url) as store, pytest.raises(SetupError) as caught:
        store.leases.acquire("a", "me", 10)
    assert caught.value.code == "metastore-unreadable"


def test_a_crowded_server_may_have_room_later(server: PostgresServer, guarded: str) -> None:
    _ask(server, f"ALTER DATABASE {guarded} CONNECTION LIMIT 0")
    error = _refused(server.url_of(guarded, f"{GUARDED}:{WRITTEN}"))
    assert (type(error), error.code) == (MetastoreUnavailable, "metastore-unavailable")


@pytest.mark.parametrize("host", ["127.0.0.1:1", "no-such-host.invalid"])
def test_a_server_that_is_not_there_may_come_back(host: str) -> None:
    error = _refused(f"postgresql://u:{WRITTEN}@{host}/db")
    assert (type(error), error.code) == (MetastoreUnavailable, "metastore-unavailable")


def test_an_unknown_setting_in_the_address_is_refused(server: PostgresServer) -> None:
    error = _refused(f"{server.url}?no_such_setting=1")
    assert (type(error), error.code) == (RequestError, "bad-metastore")
    assert "no_such_setting" in error.message


def test_removed_tables_are_told_as_damage(store: Store) -> None:
    with store.database.writing() as connection:
        connection.execute(text("DROP TABLE leases"))
    with pytest.raises(SetupError) as caught:
        store.leases.acquire("a", "me", 10)
    assert caught.value.code == "metastore-damaged"


def test_a_restarted_server_is_not_noticed(server: PostgresServer, store: Store) -> None:
    lease = store.leases.acquire("a", "me", 600.0)
    with _paused(server):
        pass
    store.leases.renew(lease, 600.0)
    assert store.leases.holder("a") is not None


def test_a_server_that_is_down_is_told_and_its_return_is_enough(server: PostgresServer, store: Store) -> None:
    ledger = store.ledger
    ledger.open(intent())
    with _paused(server):
        for ask in (lambda: ledger.seal(intent(), CONTENTS), lambda: store.leases.acquire("a", "me", 10)):
            with pytest.raises(StorageUnavailable) as caught:
                ask()
            assert caught.value.code == "metastore-unavailable"
    ledger.seal(intent(), CONTENTS)
    assert ledger.count_pending(TABLE) == 1


def test_the_steps_of_an_engine_wait_for_a_server_that_comes_back(server: PostgresServer, schema_url: str) -> None:
    with open_store(schema_url, patience=PATIENCE_SECONDS) as store, ThreadPoolExecutor() as threads:
        ledger = store.ledger
        ledger.open(intent())
        with _paused(server):
            sealed = threads.submit(ledger.seal, intent(), CONTENTS)
            held = threads.submit(store.leases.acquire, "a", "me", 600.0)
            steps: list[Future[Any]] = [sealed, held]
            assert not wait(steps, timeout=1.0).done
        sealed.result(), held.result()
        assert ledger.count_pending(TABLE) == 1


def test_a_renewal_never_waits(server: PostgresServer, schema_url: str) -> None:
    with open_store(schema_url, patience=PATIENCE_SECONDS) as store:
        lease = store.leases.acquire("a", "me", 600.0)
        began = time.monotonic()
        with _paused(server), pytest.raises(MetastoreUnavailable):
            store.leases.renew(lease, 600.0)
        assert time.monotonic() - began < 30.0


def _end(server: PostgresServer, connection: Connection) -> None:
    """The server ends a connection that somebody is working on."""
    _ask(server, f"SELECT pg_terminate_backend({connection.scalar(text('SELECT pg_backend_pid()'))})")


def test_a_connection_lost_on_the_way_writes_nothing(server: PostgresServer, store: Store) -> None:
    lease = store.leases.acquire("a", "me", 600.0)

    def write() -> None:
        with store.leases.holding(lease) as connection:
            connection.execute(text("UPDATE leases SET fence = 99"))
            _end(server, connection)
            connection.execute(text("UPDATE leases SET fence = 100"))

    with pytest.raises(StorageUnavailable) as caught:
        write()
    assert caught.value.code == "metastore-unavailable"
    store.leases.renew(lease, 600.0)


def test_a_connection_lost_at_the_commit_is_no_stack_trace(server: PostgresServer, store: Store) -> None:
    def write() -> None:
        with store.database.writing() as connection:
            connection.execute(text("DELETE FROM leases"))
            _end(server, connection)

    with pytest.raises(StorageUnavailable):
        write()


def test_a_lock_that_is_held_too_long_may_be_free_later(store: Store) -> None:
    lease = store.leases.acquire("a", "me", 600.0)

    def wait() -> None:
        with store.leases.holding(lease), store.database.writing() as other:
            other.execute(text("SET LOCAL lock_timeout = '100ms'"))
            other.execute(text("UPDATE leases SET expires = 0"))

    with pytest.raises(StorageUnavailable):
        wait()


def test_a_process_that_stands_still_holds_up_nobody_for_ever(store: Store) -> None:
    assert _setting(store.database, "idle_in_transaction_session_timeout") == "30s"
    assert _setting(store.database, "lock_timeout") == "1min"


@pytest.mark.parametrize(
    ("server_says", "address_says", "is_now"),
    [("off", "", "on"), ("local", "", "local"), ("remote_apply", "", "remote_apply"), ("on", "off", "off")],
)
def test_a_seal_that_was_acknowledged_is_on_disk_unless_the_address_says_otherwise(
    server: PostgresServer, guarded: str, server_says: str, address_says: str, is_now: str
) -> None:
    _ask(server, f"ALTER DATABASE {guarded} SET synchronous_commit = {server_says}")
    asked = f"?options=-csynchronous_commit%3D{address_says}" if address_says else ""
    with open_store(server.url_of(guarded, f"{GUARDED}:{WRITTEN}") + asked) as store:
        assert _setting(store.database, "synchronous_commit") == is_now


def test_readers_see_one_moment_and_writers_the_newest(store: Store, schema_url: str) -> None:
    count = text("SELECT count(*) FROM leases")
    with (
        open_store(schema_url) as other,
        store.database.reading() as reading,
        store.database.writing() as writing,
    ):
        assert (reading.scalar(count), writing.scalar(count)) == (0, 0)
        other.leases.acquire("a", "me", 10)
        assert (reading.scalar(count), writing.scalar(count)) == (0, 1)


def test_one_engine_takes_few_connections(server: PostgresServer, store: Store) -> None:
    with ThreadPoolExecutor(24) as pool:
        list(pool.map(lambda n: _use(store, n), range(100)))
    with psycopg.connect(server.url) as connection:
        ours = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'catchment'"
        row = connection.execute(ours.encode()).fetchone()
    assert row is not None
    assert row[0] <= CONNECTIONS + 1


def _use(store: Store, number: int) -> None:
    store.leases.renew(store.leases.acquire(f"t{number}", "me", 10), 10)


def test_thirty_engines_share_a_server_with_a_hundred_connections(server: PostgresServer, schema_url: str) -> None:
    open_store(schema_url).close()
    with ExitStack() as opened, ThreadPoolExecutor(90) as pool:
        assert _number_of(server, "max_connections") == 100
        engines = [opened.enter_context(open_store(schema_url)) for _ in range(30)]
        everyone_at_once = threading.Barrier(90)

        def work(number: int) -> None:
            everyone_at_once.wait()
            for turn in range(3):
                _use(engines[number % 30], number * 10 + turn)

        for done in [pool.submit(work, number) for number in range(90)]:
            done.result()


def _number_of(server: PostgresServer, setting: str) -> int:
    with psycopg.connect(server.url) as connection:
        row = connection.execute(f"SHOW {setting}".encode()).fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.parametrize(
    ("address", "status", "code"),
    [
        ("postgresql://u:{password}@127.0.0.1:1/db", 1, "metastore-unavailable"),
        ("{refused}", 2, "metastore-unreadable"),
        ("postgresql://u:s3cret/p@ss word@h/db", 2, "bad-metastore"),
    ],
)
def test_the_command_line_tells_it_in_one_sentence_without_the_password(
    server: PostgresServer, tmp_path: Path, address: str, status: int, code: str
) -> None:
    refused = server.url_of("no_such_database", f"postgres:{WRITTEN}")
    written = address.format(password=WRITTEN, refused=refused)
    (tmp_path / "catchment.yaml").write_text(f"metastore: {written}\n")
    command = [sys.executable, "-m", "catchment", "runs"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    told = done.stdout + done.stderr
    assert done.returncode == status, told
    assert f"error[{code}]" in told
    assert "Traceback" not in told
    assert not any(secret in told for secret in (PASSWORD, WRITTEN, "s3cret", "ss word"))


def _setting(database: Database, name: str) -> str:
    with database.reading() as connection:
        return str(connection.scalar(text(f"SHOW {name}")))


def test_a_connection_cut_in_the_middle_of_a_look_up_is_no_failure(
    server: PostgresServer, schema_url: str, store: Store
) -> None:
    done = Filled(store).commit("r/job/out", 7)
    without_spark: Any = None
    waiting = "FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    with (
        open_store(schema_url, patience=PATIENCE_SECONDS) as of_engine,
        ThreadPoolExecutor() as pool,
        psycopg.connect(schema_url) as holder,
        psycopg.connect(server.url) as looker,
    ):
        writer = Writer(without_spark, of_engine, "engine/here", max_pending=1)
        holder.execute("LOCK TABLE writes IN ACCESS EXCLUSIVE MODE")
        asked = pool.submit(writer.earlier, done.write_id, done.intent.target)
        looker.autocommit = True
        while not looker.execute(f"SELECT pg_terminate_backend(pid) {waiting}".encode()).fetchall():
            time.sleep(0.05)
        holder.rollback()
        assert asked.result(timeout=60) == done

"""Engines say that they are alive; nobody is taken for dead because the metastore was away."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import delete, update

from catchment.commit.abandonment import abandon_lost
from catchment.commit.presence import ENGINE_SECONDS, EVERY_SECONDS, Presence, announce
from catchment.errors import MetastoreUnavailable, SetupError
from catchment.store import PATIENCE_SECONDS, Store, open_store
from catchment.store.database import database_time
from catchment.store.engines import GAP_SECONDS, SETTLING_SECONDS
from catchment.store.holding import Repeated
from catchment.store.schema import engines, leases, uptime
from tests.contract.store.test_holding import seconds_left, taken_over, wait_until
from tests.ledgers import TARGET, Filled
from tests.servers.postgres import PostgresServer

OFTEN = 0.02
SELDOM = 0.5


@pytest.fixture
def own_database(server: PostgresServer) -> Iterator[str]:
    """A database of its own; gives its name."""
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE presence")
        yield "presence"
        connection.execute("DROP DATABASE presence WITH (FORCE)")


def expire(store: Store, name: str) -> None:
    with store.database.writing() as connection:
        connection.execute(update(leases).where(leases.c.name == name).values(expires=database_time() - 1))


def remember_uptime(store: Store, *, since: float, heard: float = 0.0) -> None:
    """As if engines had been heard from for `since` seconds, the last time `heard` seconds ago."""
    now = database_time()
    store.engines.watch()
    with store.database.writing() as connection:
        connection.execute(update(uptime).values(since=now - since, heard=now - heard))


def settled(store: Store) -> None:
    remember_uptime(store, since=SETTLING_SECONDS + 1)


def silent(store: Store, name: str = "engine/silent") -> str:
    """An engine that was heard from once, and whose lease has run out."""
    store.engines.here(name, ENGINE_SECONDS)
    expire(store, name)
    return name


def test_a_living_engine_outlasts_the_patience_of_its_steps() -> None:
    assert ENGINE_SECONDS > PATIENCE_SECONDS + 2 * EVERY_SECONDS
    assert ENGINE_SECONDS > GAP_SECONDS + 2 * EVERY_SECONDS  # an outage that ends a lease is noticed as a gap


def test_an_engine_takes_back_what_it_lost(store: Store) -> None:
    with announce(store, every=OFTEN) as engine:
        taken_over(store, engine.owner)
        wait_until(lambda: _owner(store, engine.owner) == engine.owner)


def test_an_engine_that_the_metastore_forgot_announces_itself_again(store: Store) -> None:
    with announce(store, every=OFTEN) as engine:
        with store.database.writing() as connection:
            connection.execute(delete(leases))
        wait_until(lambda: _owner(store, engine.owner) == engine.owner)


def test_an_engine_that_ends_says_so(store: Store) -> None:
    with announce(store, every=OFTEN) as engine:
        owner = engine.owner
        assert seconds_left(store, owner) > 0
    assert store.leases.holder(owner) is None
    filled = Filled(store)
    filled.open("r/j/1", owner=owner)
    assert abandon_lost(store.ledger, TARGET) == ("r/j/1",)  # nobody has to wait for it


@pytest.mark.parametrize("trouble", [SetupError("read-only", code="metastore-unreadable"), RuntimeError("unexpected")])
def test_no_trouble_ends_the_signs_of_life(trouble: Exception) -> None:
    turns: list[int] = []

    def renew() -> None:
        turns.append(1)
        if len(turns) < 3:
            raise trouble

    renewal = Repeated("the engine", renew, OFTEN)
    wait_until(lambda: len(turns) > 4)
    renewal.stop()
    assert renewal.lost is None


def test_a_metastore_that_takes_no_writes_for_a_while_costs_nothing(server: PostgresServer, own_database: str) -> None:
    url = server.url_of(own_database)
    with open_store(url) as store, announce(store, every=OFTEN) as engine:
        _set_read_only(server, own_database, "on")
        with psycopg.connect(url) as person:
            person.execute("SET TRANSACTION READ WRITE")
            person.execute("UPDATE leases SET expires = 0")
        time.sleep(OFTEN * 5)
        assert _seconds_left(store, engine) == 0
        _set_read_only(server, own_database, "off")
        wait_until(lambda: _seconds_left(store, engine) > 0)


def test_a_step_waits_for_a_metastore_that_takes_no_writes_for_a_while(
    server: PostgresServer, own_database: str
) -> None:
    """A server that has just been demoted refuses writes until its address leads to the new primary."""
    with open_store(server.url_of(own_database), patience=PATIENCE_SECONDS) as store:
        _set_read_only(server, own_database, "on")
        with pytest.raises(MetastoreUnavailable) as refused, store.database.writing() as connection:
            connection.execute(delete(leases))
        assert refused.value.code == "metastore-unreadable"
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(store.engines.describe, "engine/e", "old", "3.5.8", "local[2]")
            with pytest.raises(TimeoutError):
                waiting.result(timeout=OFTEN)
            _set_read_only(server, own_database, "off")
            waiting.result()


def test_a_metastore_that_never_took_a_write_is_refused_at_once(server: PostgresServer, own_database: str) -> None:
    open_store(server.url_of(own_database)).close()
    _set_read_only(server, own_database, "on")
    with (
        open_store(server.url_of(own_database), patience=PATIENCE_SECONDS) as store,
        pytest.raises(SetupError) as refused,
        store.database.writing() as connection,
    ):
        connection.execute(delete(leases))
    assert refused.value.code == "metastore-unreadable"


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_file_that_cannot_be_opened_for_a_while_costs_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with open_store(f"sqlite:///{home}/metastore.db") as store, announce(store, every=OFTEN) as engine:
        store.database.close()
        home.rename(tmp_path / "elsewhere")
        time.sleep(OFTEN * 5)
        store.database.close()
        (tmp_path / "elsewhere").rename(home)
        expire(store, engine.owner)
        wait_until(lambda: seconds_left(store, engine.owner) > 0)


def test_a_silent_engine_counts_as_gone_once_the_metastore_has_answered_for_long_enough(filled: Filled) -> None:
    filled.open("r/j/1", owner=silent(filled.store))
    settled(filled.store)
    assert [write.alive for write in filled.store.activity.writes()] == [False]
    assert abandon_lost(filled.ledger, TARGET) == ("r/j/1",)


@pytest.mark.parametrize(
    ("since", "heard"),
    [
        (SETTLING_SECONDS / 2, 0.0),
        (SETTLING_SECONDS * 100, GAP_SECONDS * 2),
        (SETTLING_SECONDS * 100, -3600.0),
    ],
    ids=["it has just come back", "nobody has been heard from since", "its clock went back"],
)
def test_nobody_is_given_up_while_the_living_may_not_have_been_heard(
    filled: Filled, since: float, heard: float
) -> None:
    filled.open("r/j/1", owner=silent(filled.store))
    remember_uptime(filled.store, since=since, heard=heard)
    assert [write.alive for write in filled.store.activity.writes()] == [True]
    assert abandon_lost(filled.ledger, TARGET) == ()
    assert filled.states("r/j/1") == ["open"]


def test_a_gap_begins_the_count_anew(store: Store) -> None:
    remember_uptime(store, since=SETTLING_SECONDS * 100, heard=GAP_SECONDS * 2)
    assert not store.engines.watch()
    remember_uptime(store, since=SETTLING_SECONDS * 100, heard=-3600.0)
    assert not store.engines.watch()
    settled(store)
    assert store.engines.watch()


def test_an_outage_longer_than_a_lease_costs_no_open_write(server: PostgresServer, schema_url: str) -> None:
    with (
        open_store(schema_url) as store,
        open_store(schema_url) as other,
        announce(store, every=SELDOM) as living,
    ):
        filled = Filled(store)
        filled.open("r/j/living", owner=living.owner)
        settled(store)
        server.pause()
        server.start()
        # As if it had been away for longer than a lease lasts.
        remember_uptime(other, since=SETTLING_SECONDS * 100, heard=GAP_SECONDS * 2)
        expire(other, living.owner)
        assert abandon_lost(other.ledger, TARGET) == ()
        wait_until(lambda: _seconds_left(other, living) > 0)
        settled(other)
        assert abandon_lost(other.ledger, TARGET) == ()
        assert filled.states("r/j/living") == ["open"]


def _owner(store: Store, name: str) -> str | None:
    holder = store.leases.holder(name)
    return holder.owner if holder else None


def _seconds_left(store: Store, engine: Presence) -> float:
    """Asked again where the server has just ended our connection."""
    left: list[float] = []
    wait_until(lambda: _asked(store, engine, left))
    return left[0]


def _asked(store: Store, engine: Presence, left: list[float]) -> bool:
    with suppress(MetastoreUnavailable):
        left.append(seconds_left(store, engine.owner))
    return bool(left)


def _set_read_only(server: PostgresServer, database: str, value: str) -> None:
    """Whoever connects from now on may or may not write; everybody has to connect anew.

    Old connections are awaited until they are gone: one of them might write once more.
    """
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {database} SET default_transaction_read_only = {value}".encode())
        connection.execute(
            f"SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = '{database}'".encode()
        )


def test_living_engines_are_known_with_their_spark_until_they_end(store: Store) -> None:
    with announce(store) as presence:
        store.engines.describe(presence.owner, "old", "3.5.8", "local[2]")
        store.engines.describe(presence.owner, "old", "3.5.8", "local[2]")  # the answer to the first was lost
        store.engines.here("table/raw.t", 60.0)
        [living] = store.engines.living()
        assert (living.name, living.engine, living.spark, living.master) == (
            *(presence.owner, "old"),
            *("3.5.8", "local[2]"),
        )
        assert living.started
        assert -1 < living.silent < 60
        with store.database.writing() as connection:
            connection.execute(delete(engines))  # restored from an older copy
        assert [(each.name, each.engine) for each in store.engines.living()] == [(presence.owner, None)]
        expire(store, presence.owner)
        assert store.engines.living() == ()
    assert store.engines.living() == ()

"""The store's contract holds on every database: an SQLite file, and a database of a real PostgreSQL server."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from catchment.store import Store, open_store
from catchment.store.ledger import Ledger
from tests.ledgers import Filled
from tests.servers import postgres
from tests.servers.postgres import PostgresServer

_names = itertools.count(1)


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    """One PostgreSQL server for the whole session."""
    running = postgres.start()
    yield running
    running.stop()


@pytest.fixture
def schema_url(server: PostgresServer) -> str:
    """An empty schema of its own: a whole database per test would take its time to be made."""
    name = f"metastore{next(_names)}"
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}".encode())
    return f"{server.url}?options=-csearch_path%3D{name}"


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a metastore that does not exist yet."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/home/metastore.db"
    return str(request.getfixturevalue("schema_url"))


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with open_store(url) as store:
        yield store


@pytest.fixture
def ledger(store: Store) -> Ledger:
    return store.ledger


@pytest.fixture
def filled(store: Store) -> Filled:
    return Filled(store)

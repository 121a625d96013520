"""The troubles that a soak makes are what they are called: the metastore is older, or silent, and then answers."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet

import psycopg
import pytest

from catchment.store import open_store
from tests.ledgers import Filled
from tests.servers import postgres
from tests.servers.postgres import PostgresServer
from tests.servers.wire import Wire


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """A server that no other test uses: it loses what it was told."""
    server = postgres.start()
    yield server
    server.stop()


def test_a_metastore_that_failed_over_has_forgotten_what_came_after_its_copy(own_server: PostgresServer) -> None:
    with open_store(own_server.url) as store:
        Filled(store).commit("r/before/out", 7)
    own_server.copy()
    with open_store(own_server.url) as store:
        Filled(store).commit("r/after/out", 8)
    own_server.fail_over()
    with open_store(own_server.url) as store:
        assert Filled(store).states("r/before/out", "r/after/out") == ["committed", None]


def test_a_wire_that_was_cut_says_nothing_until_it_is_mended(server: PostgresServer) -> None:
    wire = Wire(server.port)
    through = server.url.replace(str(server.port), str(wire.port))
    with psycopg.connect(through) as connection, ThreadPoolExecutor() as pool:
        wire.cut()
        asked = pool.submit(lambda: connection.execute("SELECT 1").fetchall())
        with pytest.raises(NotYet):
            asked.result(0.2)
        wire.mend()
        assert asked.result(60) == [(1,)]
    wire.stop()

"""Servers and lakes for the tests of stores: each is started once, when the first test asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from catchment.project.model import Catalog, Depot
from tests.matrices import EXHAUSTIVE
from tests.servers import postgres, s3
from tests.servers.gate import Gate
from tests.servers.postgres import PostgresServer
from tests.servers.s3 import S3Server
from tests.servers.wire import Wire
from tests.stores import lakes
from tests.stores.lakes import Lake

Directories = pytest.TempPathFactory


@pytest.fixture(scope="session")
def store(tmp_path_factory: Directories) -> Iterator[S3Server]:
    """An S3 server."""
    running = s3.start(
        s3.jar(), tmp_path_factory.mktemp("s3"), buckets=("lake", "gated", "hasty", "rest", "single", "lenient")
    )
    yield running
    running.stop()


@pytest.fixture(scope="session")
def database() -> Iterator[PostgresServer]:
    """A PostgreSQL server; its own first database is for catalogs, another one for the metastore."""
    running = postgres.start()
    with psycopg.connect(running.url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE metastore")
    yield running
    running.stop()


@pytest.fixture(scope="session")
def gate(store: S3Server) -> Iterator[Gate]:
    """What stands between the S3 server and the buckets `gated` and `hasty`."""
    gate = Gate(store.endpoint)
    yield gate
    gate.stop()


@pytest.fixture(scope="session")
def wire(database: PostgresServer) -> Iterator[Wire]:
    """What stands between the PostgreSQL server and the catalog of the depot `wired`."""
    wire = Wire(database.port)
    yield wire
    wire.stop()


@pytest.fixture(scope="session")
def on_s3(
    store: S3Server, database: PostgresServer, gate: Gate, wire: Wire, tmp_path_factory: Directories
) -> Iterator[Lake]:
    """Catalog and metastore in PostgreSQL, tables on S3; beside it depots for the tests of trouble."""
    root = tmp_path_factory.mktemp("on-s3")
    gated = {"spark.hadoop.fs.s3a.bucket.gated.endpoint": gate.endpoint}
    depots = (
        lakes.in_postgresql("lake", "s3a://lake/warehouse", database.port, store.spark_conf()),
        lakes.in_postgresql("gated", "s3a://gated/warehouse", database.port, gated),
        Depot("gated-events", "delta", "s3a://gated/events"),
        Depot("gated-drop", "files", "s3a://gated/drop"),
        lakes.in_postgresql("hasty", "s3a://hasty/warehouse", database.port, _hasty(gate)),
        lakes.in_postgresql("wired", "s3a://lake/wired", wire.port, properties={"jdbc.socketTimeout": "10"}),
        lakes.with_icebergs_files(database.port, gate.endpoint),
        Depot("alone", "iceberg", str(root / "alone"), Catalog("hadoop")),
        lakes.impatient(root),
        Depot("events", "delta", "s3a://lake/events"),
        Depot("lenient", "delta", "s3a://lenient/events", conf=_LENIENT),
        *lakes.of_files(root),
    )
    with lakes.opened(depots, database.url_of("metastore"), store.data, root) as lake:
        yield lake


_LENIENT = {"spark.hadoop.fs.s3a.bucket.lenient.create.conditional.enabled": "false"}
"""As if the store did not refuse to create a file that exists."""


def _hasty(gate: Gate) -> dict[str, str]:
    """A bucket behind the gate whose clients give up after a second; by default they are patient for minutes."""
    settings = {
        "endpoint": gate.endpoint,
        "attempts.maximum": "1",
        "retry.limit": "2",
        "retry.interval": "200ms",
        "retry.throttle.limit": "2",
        "retry.throttle.interval": "200ms",
    }
    return {f"spark.hadoop.fs.s3a.bucket.hasty.{key}": value for key, value in settings.items()}


@pytest.fixture(
    scope="session",
    params=[pytest.param("on_disk", marks=EXHAUSTIVE), "on_s3", pytest.param("at_rest", marks=pytest.mark.slow)],
)
def lake(request: pytest.FixtureRequest, store: S3Server, on_s3: Lake, tmp_path_factory: Directories) -> Iterator[Lake]:
    """Every kind of lake in turn."""
    if request.param == "on_s3":
        yield on_s3
        return
    root = tmp_path_factory.mktemp(request.param)
    with lakes.on_disk(root, on_s3) if request.param == "on_disk" else lakes.at_rest(root, store, on_s3) as lake:
        yield lake

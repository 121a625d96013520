"""Lakes of every kind: a catalog, a store, a metastore, and two engines that work on them at the same time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from catchment.errors import EngineLost
from catchment.plan.model import JobPlan
from catchment.project.model import Catalog, Depot
from catchment.store import open_store
from tests.concurrency.waiting import worker_of
from tests.ledgers import Filled, end_leases
from tests.servers import hive, nessie
from tests.servers.gate import Gate
from tests.servers.s3 import KEY, SECRET, S3Server
from tests.servers.wire import Wire
from tests.spark.hosts import Host
from tests.spark.lake import UNPREPARED, LiveEngine, engine_plan, lake_depot, table, writing


@dataclass(frozen=True)
class Lake:
    """Depots, a metastore, and two engines. The depot under test is called `lake`."""

    depots: tuple[Depot, ...]
    metastore: str
    disk: Path
    """Where the store keeps its files on this machine; of an S3 server, its buckets."""
    here: LiveEngine
    there: LiveEngine
    host: Host
    """Whose Java an engine that is to be killed uses: not that of `here`."""
    branches: bool = True
    """Whether the catalog keeps branches of tables."""

    def kill(self, fault: str, job: JobPlan, run: str, logs: Path) -> None:
        """Run a job in a third engine, which dies at a point of the commit path, and end what it has leased."""
        plan = engine_plan(*self.depots, key="victim", fault=f"{fault}:kill", metastore=self.metastore, conf=UNPREPARED)
        victim = self.host.guest(plan, logs, (SECRET,))
        assert isinstance(victim.start_job(job, run=run).answer(), EngineLost)
        with self.ledger() as filled:
            end_leases(filled.store, worker_of(victim))

    def depot(self, name: str) -> Depot:
        """One of its depots."""
        return next(depot for depot in self.depots if depot.name == name)

    def files(self, location: str) -> list[Path]:
        """What the store holds in a directory."""
        return sorted(self.disk.joinpath(location.partition("://")[2] or location).rglob("*.parquet"))

    @contextmanager
    def ledger(self) -> Iterator[Filled]:
        """The ledger of this lake."""
        with open_store(self.metastore) as store:
            yield Filled(store)


@contextmanager
def opened(depots: tuple[Depot, ...], metastore: str, disk: Path, logs: Path) -> Iterator[Lake]:
    """A lake with its engines running."""
    # Four jobs of each may be in the middle of a file at once.
    plan = engine_plan(*depots, metastore=metastore, conf=UNPREPARED, master="local[4]")
    here, there = (Host(plan, logs / name, (SECRET,)) for name in ("here", "there"))
    try:
        here.ready()
        there.ready()
        yield Lake(depots, metastore, disk, here, there, there)
    finally:
        for engine in (here, there):
            engine.process.stop(grace=5)


@contextmanager
def beside(lake: Lake, metastore: str, disk: Path, logs: Path, *depots: Depot) -> Iterator[Lake]:
    """Another lake, whose engines use the Javas of a lake that is there."""
    plan, hosts = engine_plan(*depots, metastore=metastore, conf=UNPREPARED), (lake.here, lake.there)
    here, there = (host.guest(plan, logs / str(n), (SECRET,)) for n, host in enumerate(hosts) if isinstance(host, Host))
    try:
        yield Lake(depots, metastore, disk, here, there, lake.host)
    finally:
        for engine in (here, there):
            engine.process.stop(grace=5)


@contextmanager
def on_disk(root: Path, other: Lake) -> Iterator[Lake]:
    """Everything in files of this machine."""
    with beside(other, f"sqlite:///{root}/metastore.db", root, root / "logs", lake_depot(root)) as lake:
        yield lake


@contextmanager
def at_rest(root: Path, store: S3Server, other: Lake) -> Iterator[Lake]:
    """A REST catalog that says where tables are and at which endpoint; the keys are the depot's."""
    catalog = nessie.start(nessie.jar(), root, store, "rest")
    try:
        depot = _at_nessie("lake", catalog.uri)
        with beside(other, f"sqlite:///{root}/metastore.db", store.data, root / "logs", depot) as lake:
            yield replace(lake, branches=False)
    finally:
        catalog.stop()


@contextmanager
def at_rest_behind_a_gate(root: Path, store: S3Server, other: Lake) -> Iterator[tuple[Lake, Gate]]:
    """The same; beside it a depot `late`, whose requests to the same catalog pass a gate."""
    catalog = nessie.start(nessie.jar(), root, store, "rest")
    server, path = catalog.uri.rsplit("/", 1)
    gate = Gate(server)
    depots = _at_nessie("lake", catalog.uri), _at_nessie("late", f"{gate.endpoint}/{path}")
    try:
        with beside(other, f"sqlite:///{root}/metastore.db", store.data, root / "logs", *depots) as lake:
            yield replace(lake, branches=False), gate
    finally:
        gate.stop()
        catalog.stop()


@contextmanager
def with_silent_catalogs(root: Path, store: S3Server, other: Lake) -> Iterator[tuple[Lake, dict[str, Wire]]]:
    """Depots `rest` and `hive`: their catalogs are at the ends of wires, and may be silent for ten seconds at most."""
    nessies, hives = nessie.start(nessie.jar(), root, store, "rest"), hive.start(root)
    wires = {"rest": Wire(_port(nessies.uri)), "hive": Wire(_port(hives.uri))}
    at_nessie = f"http://127.0.0.1:{wires['rest'].port}/iceberg"
    # The server in Spark's jars has no tables for locks.
    settings = {"iceberg.engine.hive.lock-enabled": "false", "hive.metastore.client.socket.timeout": "10s"}
    properties = {f"hadoop.{key}": value for key, value in settings.items()}
    catalog = Catalog("hive", f"thrift://127.0.0.1:{wires['hive'].port}", properties=properties)
    depots = (
        _at_nessie("rest", at_nessie, {"rest.client.socket-timeout-ms": "10000"}),
        Depot("hive", "iceberg", str(root / "tables"), catalog),
    )
    try:
        with beside(other, f"sqlite:///{root}/metastore.db", store.data, root / "logs", *depots) as lake:
            yield lake, wires
    finally:
        for wire in wires.values():
            wire.stop()
        nessies.stop()
        hives.stop()


def _port(uri: str) -> int:
    return int(urlsplit(uri).port or 0)


def _at_nessie(name: str, uri: str, properties: Mapping[str, str] | None = None) -> Depot:
    keys = {"s3.access-key-id": KEY, "s3.secret-access-key": SECRET}
    return Depot(name, "iceberg", nessie.WAREHOUSE, Catalog("rest", uri, properties={**keys, **(properties or {})}))


def in_postgresql(
    name: str,
    location: str,
    port: int,
    conf: Mapping[str, str] | None = None,
    properties: Mapping[str, str] | None = None,
) -> Depot:
    """A depot whose catalog is in PostgreSQL and whose tables are on S3."""
    # Statements go over the wire as text each time, so that they can be recognised there.
    own = {"jdbc.user": "postgres", "jdbc.prepareThreshold": "0"}
    catalog = Catalog(uri=f"jdbc:postgresql://127.0.0.1:{port}/postgres", properties={**own, **(properties or {})})
    return Depot(name, "iceberg", location, catalog, conf or {}, publish=f"{name}_published")


def with_icebergs_files(port: int, endpoint: str) -> Depot:
    """A depot whose files are reached through Iceberg's own S3 client, which gives up soon."""
    depot = in_postgresql("iceberg-s3", "s3://hasty/iceberg", port)
    assert depot.catalog
    properties = {
        "s3.endpoint": endpoint,
        "s3.path-style-access": "true",
        "s3.access-key-id": KEY,
        "s3.secret-access-key": SECRET,
        "s3.retry.num-retries": "1",
        "client.region": "us-east-1",
    }
    return replace(depot, catalog=replace(depot.catalog, properties={**depot.catalog.properties, **properties}))


def impatient(root: Path) -> Depot:
    """A depot on a SQLite catalog whose clients wait for nobody."""
    depot = lake_depot(root, "impatient")
    assert depot.catalog
    return replace(depot, catalog=replace(depot.catalog, properties={"jdbc.busy_timeout": "50"}))


def of_files(root: Path) -> tuple[Depot, Depot, Depot]:
    """A bucket, a directory of this machine that Hadoop takes for a store of its own, and a store of few talents."""
    (root / "mounted").mkdir()
    mount = {"spark.hadoop.fs.viewfs.mounttable.there.link./drop": (root / "mounted").as_uri()}
    one_by_one = {"spark.hadoop.fs.s3a.bucket.single.multiobjectdelete.enable": "false"}
    return (
        Depot("bucket", "files", "s3a://lake/drop"),
        Depot("mounted", "files", "viewfs://there/drop", conf=mount),
        Depot("single", "files", "s3a://single/drop", conf=one_by_one),
    )


def appending(name: str, first: int, job: str, depot: str = "lake", files: int = 1) -> JobPlan:
    """A job that appends ten ids."""
    sql = f"SELECT id FROM range({first}, {first + 10}, 1, {files})"
    return writing(sql, table(name, depot), name=job, mode="append")

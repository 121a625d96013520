"""Lakes of every kind: a catalog, a store, a metastore, and two engines that work on them at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from catchment.errors import EngineLost
from catchment.plan.model import JobPlan
from catchment.project.model import Catalog, Depot
from catchment.store import open_store
from tests.ledgers import Filled
from tests.servers import nessie
from tests.servers.s3 import KEY, SECRET, S3Server
from tests.spark.lake import UNPREPARED, LiveEngine, engine_plan, lake_depot, table, writing

Start = Callable[..., LiveEngine]


@dataclass(frozen=True)
class Lake:
    """Depots, a metastore, and two engines. The depot under test is called `lake`."""

    depots: tuple[Depot, ...]
    metastore: str
    disk: Path
    """Where the store keeps its files on this machine; of an S3 server, its buckets."""
    here: LiveEngine
    there: LiveEngine
    branches: bool = True
    """Whether the catalog keeps branches of tables."""

    def kill(self, start: Start, fault: str, job: JobPlan, run: str) -> None:
        """Run a job in a third engine, which dies at a point of the commit path."""
        victim = start(
            *self.depots,
            key="victim",
            fault=f"{fault}:kill",
            metastore=self.metastore,
            secrets=(SECRET,),
            conf=UNPREPARED,
        )
        assert isinstance(victim.start_job(job, run=run).answer(), EngineLost)

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
    plan = engine_plan(*depots, metastore=metastore, conf=UNPREPARED)
    here, there = (LiveEngine(plan, logs / name, (SECRET,)) for name in ("here", "there"))
    try:
        here.ready()
        there.ready()
        yield Lake(depots, metastore, disk, here, there)
    finally:
        for engine in (here, there):
            engine.process.stop(grace=5)


@contextmanager
def on_disk(root: Path) -> Iterator[Lake]:
    """Everything in files of this machine."""
    with opened((lake_depot(root),), f"sqlite:///{root}/metastore.db", root, root / "logs") as lake:
        yield lake


@contextmanager
def at_rest(root: Path, store: S3Server) -> Iterator[Lake]:
    """A REST catalog that says where tables are and at which endpoint; the keys are the depot's."""
    catalog = nessie.start(nessie.jar(), root, store, "rest")
    keys = {"s3.access-key-id": KEY, "s3.secret-access-key": SECRET}
    depot = Depot("lake", "iceberg", nessie.WAREHOUSE, Catalog("rest", catalog.uri, properties=keys))
    try:
        with opened((depot,), f"sqlite:///{root}/metastore.db", store.data, root / "logs") as lake:
            yield replace(lake, branches=False)
    finally:
        catalog.stop()


def in_postgresql(name: str, location: str, port: int, conf: Mapping[str, str] | None = None) -> Depot:
    """A depot whose catalog is in PostgreSQL and whose tables are on S3."""
    # Statements go over the wire as text each time, so that they can be recognised there.
    properties = {"jdbc.user": "postgres", "jdbc.prepareThreshold": "0"}
    catalog = Catalog(uri=f"jdbc:postgresql://127.0.0.1:{port}/postgres", properties=properties)
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


def appending(name: str, first: int, job: str, depot: str = "lake", files: int = 1) -> JobPlan:
    """A job that appends ten ids."""
    sql = f"SELECT id FROM range({first}, {first + 10}, 1, {files})"
    return writing(sql, table(name, depot), name=job, mode="append")

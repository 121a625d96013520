"""Delta tables of a catalog: a real Hive metastore, two engines, and a Spark that knows nothing of Catchment."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from catchment.engine import packages
from catchment.plan.model import Dataset, InputPlan, JobPlan
from catchment.project.model import Catalog, Depot
from catchment.store import open_store
from tests.concurrency.waiting import until
from tests.ledgers import Filled
from tests.servers import hive
from tests.spark.lake import HERE, LiveEngine, by, delta_depot, engine_plan, job, merging, output, writing

pytestmark = pytest.mark.slow

PLAIN = """
import sys
from pyspark.sql import SparkSession
uri, jars, directory, sql = sys.argv[1:]
spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.driver.extraClassPath", jars)
    .config("spark.ui.enabled", "false")
    .config("spark.sql.warehouse.dir", directory)
    .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    .config("spark.hadoop.hive.metastore.uris", uri)
    .enableHiveSupport()
    .getOrCreate()
)
print("rows:", [tuple(row) for row in spark.sql(sql).collect()])
spark.stop()
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("catalog")


@pytest.fixture(scope="module")
def metastore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[hive.HiveServer]:
    server = hive.start(tmp_path_factory.mktemp("hive"))
    yield server
    server.stop()


@pytest.fixture(scope="module")
def shop(place: Path, metastore: hive.HiveServer) -> Depot:
    return Depot("shop", "delta", str(place / "shop"), Catalog("hive", metastore.uri))


@pytest.fixture(scope="module")
def engines(place: Path, shop: Depot) -> Iterator[tuple[LiveEngine, LiveEngine]]:
    here, there = (LiveEngine(engine_plan(shop, delta_depot(place), key=key), place / key) for key in ("here", "there"))
    here.ready()
    there.ready()
    yield here, there
    here.process.stop(grace=5)
    there.process.stop(grace=5)


@pytest.fixture
def ledger(place: Path) -> Iterator[Filled]:
    with open_store(f"sqlite:///{place}/metastore.db") as store:
        yield Filled(store)


def named(shop: Depot, name: str, namespace: str = "eu") -> Dataset:
    address, place = f"dataos://shop:{namespace}/{name}", f"{shop.location}/{namespace}/{name}"
    return Dataset(address, "shop", "delta", namespace, name, place, named=True)


def appending(target: Dataset, first: int, name: str = "job") -> JobPlan:
    return writing(f"SELECT id FROM range({first}, {first + 5})", target, name=name, mode="append")


def ids(engine: LiveEngine, name: str) -> list[int]:
    return [row[0] for row in engine.rows(f"SELECT id FROM {name} ORDER BY id")]


@pytest.mark.exhaustive
def test_two_engines_one_name_and_any_spark_finds_it(
    engines: tuple[LiveEngine, LiveEngine], shop: Depot, fresh: str, tmp_path: Path
) -> None:
    here, there = engines
    target = named(shop, fresh)
    sent = [engines[n % 2].start_job(appending(target, 5 * n, f"j{n}")) for n in range(6)]
    assert [pending.done()[0].rows for pending in sent] == [5] * 6
    assert ids(here, f"shop.eu.{fresh}") == ids(there, f"eu.{fresh}") == list(range(30))
    assert here.value(f"SELECT count({fresh}.id) FROM shop.eu.{fresh} VERSION AS OF 0") == 0
    there.run(writing("SELECT id FROM range(2)", target))
    there.run(merging("SELECT 1L AS id", target, "old.id = new.id", "MATCHED THEN DELETE"))
    jars = ":".join(packages.install(here.plan, print).jars)
    sql = f"SELECT count(*), max(id) FROM eu.{fresh}"
    plain = subprocess.run(
        [sys.executable, "-c", PLAIN, str(shop.catalog and shop.catalog.uri), jars, str(tmp_path), sql],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=280,
    )
    assert "rows: [(1, 0)]" in plain.stdout, plain.stderr[-2000:]


def test_a_table_that_the_catalog_has_elsewhere_is_written_there(
    engines: tuple[LiveEngine, LiveEngine], shop: Depot, place: Path, ledger: Filled, fresh: str
) -> None:
    here, there = engines
    where = str(place / "events" / "raw" / fresh)
    here.ask("CREATE DATABASE IF NOT EXISTS eu")
    here.ask(f"CREATE TABLE eu.{fresh} (id BIGINT, part INT) USING delta PARTITIONED BY (part) LOCATION '{where}'")
    target = named(shop, fresh)
    parts = (by("identity", "part"),)
    here.run(writing("SELECT id, CAST(id AS INT) AS part FROM range(2)", target, partitions=parts))
    replacing = writing("SELECT 9L AS id, 1 AS part", target, mode="overwrite-partitions", partitions=parts)
    there.run(replacing)
    assert ids(here, f"delta.`{where}`") == ids(here, f"shop.eu.{fresh}") == [0, 9]
    assert here.inspect("table", target)["location"] == where
    entry = {"namespace": "eu", "table": fresh, "address": target.address}
    assert entry in here.inspect("tables", Dataset("", "shop", "delta", path=shop.location, named=True))["tables"]
    # The same table by its path, in another depot: one lease, held by somebody else.
    lease = ledger.store.leases.acquire(f"table/{where}", "somebody", 600.0)
    address = f"dataos://events:raw/{fresh}"
    by_path = Dataset(address, "events", "delta", "raw", fresh, where)
    waiting = [
        engine.start_job(writing(f"SELECT {n}L AS id, 0 AS part", dataset, name=f"w{n}", mode="append"))
        for n, (engine, dataset) in enumerate([(here, target), (there, by_path)], start=20)
    ]
    for pending in waiting:
        pending.wait_for("writing")
    assert not any(pending.is_answered() for pending in waiting)
    assert ids(here, f"shop.eu.{fresh}") == [0, 9]
    ledger.store.leases.release(lease)
    for pending in waiting:
        pending.done()
    assert ids(here, f"shop.eu.{fresh}") == [0, 9, 20, 21]


@pytest.mark.exhaustive
def test_a_table_without_a_name_gets_one_from_the_next_write(
    engines: tuple[LiveEngine, LiveEngine], shop: Depot, fresh: str
) -> None:
    here, _ = engines
    target = named(shop, fresh)
    here.run(appending(target, 0))
    here.ask(f"DROP TABLE eu.{fresh}")  # it is external: the catalog forgets it, the data stays
    here.run(job(output("rows", named(shop, f"{fresh}_copy")), inputs=[InputPlan("rows", target, HERE)]))
    assert ids(here, f"shop.eu.{fresh}_copy") == list(range(5))
    here.run(appending(target, 5))
    assert ids(here, f"shop.eu.{fresh}") == list(range(10))


@pytest.mark.exhaustive
def test_a_name_that_is_taken_by_another_format(
    engines: tuple[LiveEngine, LiveEngine], shop: Depot, place: Path, fresh: str
) -> None:
    here, _ = engines
    here.ask("CREATE DATABASE IF NOT EXISTS eu")
    here.ask(f"CREATE TABLE eu.{fresh} (id BIGINT) USING parquet LOCATION '{place}/{fresh}'")
    failed = here.fail(appending(named(shop, fresh), 0))
    assert (failed.code, failed.retryable) == ("not-a-delta-table", False)


def test_a_named_table_is_dropped_with_its_directory(
    engines: tuple[LiveEngine, LiveEngine], shop: Depot, fresh: str
) -> None:
    here, _ = engines
    target, renamed, kept = (named(shop, f"{fresh}{more}") for more in ("", "a", "b"))
    for each in (target, kept):
        here.run(appending(each, 0))
    here.ask(f"ALTER TABLE eu.{fresh} RENAME TO eu.{fresh}a")
    shown = here.drop(renamed, dry_run=True)
    assert (shown["location"], shown["rows"]) == (target.path, 5)
    here.drop(renamed, expected=shown["table_id"])
    assert not Path(str(target.path)).exists()
    assert here.start_drop(renamed).failed().code == "table-not-found"
    assert ids(here, f"shop.eu.{fresh}b") == list(range(5))


def test_a_sealed_write_keeps_a_table_that_was_renamed_meanwhile(
    engines: tuple[LiveEngine, LiveEngine], shop: Depot, ledger: Filled, fresh: str
) -> None:
    here, there = engines
    target, renamed = (named(shop, f"{fresh}{more}") for more in ("", "a"))
    here.run(appending(target, 0))
    lease = ledger.store.leases.acquire(f"table/{target.path}", "somebody who takes his time", 600.0)
    pending = there.start_job(appending(target, 5))
    until(lambda: ledger.ledger.count_pending(target.address) == 1)
    here.ask(f"ALTER TABLE eu.{fresh} RENAME TO eu.{fresh}a")
    for dry_run in (True, False):
        assert here.start_drop(renamed, dry_run=dry_run).failed().code == "table-in-use"
    ledger.store.leases.release(lease)
    pending.done()
    assert ids(here, f"shop.eu.{fresh}a") == list(range(10))
    assert here.drop(renamed)["dropped"] is True


@pytest.mark.parametrize("where", ["{elsewhere}", "{shop}", "{shop}/eu", "{shop}/eu/{name}"])
def test_a_directory_that_is_not_only_the_tables_own_stays(
    engines: tuple[LiveEngine, LiveEngine], shop: Depot, tmp_path: Path, fresh: str, where: str
) -> None:
    here, _ = engines
    other, target = named(shop, fresh), named(shop, f"{fresh}_x")
    here.run(appending(other, 0))
    location = where.format(elsewhere=tmp_path, shop=shop.location, name=fresh)
    with has_log(here, Path(location), tmp_path / "empty"):
        here.ask(f"CREATE TABLE eu.{fresh}_x USING delta LOCATION '{location}'")
        for dry_run in (True, False):
            assert here.start_drop(target, dry_run=dry_run).failed().code == "location-not-own"
        assert here.inspect("table", target)["location"] == location
        assert ids(here, f"shop.eu.{fresh}") == list(range(5))
        here.ask(f"DROP TABLE eu.{fresh}_x")


@contextmanager
def has_log(engine: LiveEngine, location: Path, empty: Path) -> Iterator[None]:
    """Make a directory that has no Delta table one without rows, until the end of the block."""
    log = location / "_delta_log"
    if log.exists():
        yield
        return
    engine.ask(f"CREATE TABLE delta.`{empty}` (id BIGINT) USING delta")
    shutil.copytree(empty / "_delta_log", log)
    try:
        yield
    finally:
        shutil.rmtree(log)

"""Tables that Iceberg encrypts: in a hive catalog, the only one that does, with a key server that keeps no secret."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from catchment.engine import java, maven, packages
from catchment.formats.iceberg.traits import TRAITS
from catchment.plan.model import JobPlan
from catchment.project.model import Catalog, Depot
from catchment.store import open_store
from tests.concurrency.invariants import check, ids
from tests.concurrency.test_fences import overtaken
from tests.ledgers import Filled
from tests.servers import hive
from tests.servers.yarn import has_compiler
from tests.spark.hosts import Host
from tests.spark.lake import UNPREPARED, LiveEngine, engine_plan, table, writing

KEYS = Path(hive.__file__).with_name("Keys.java")
ENCRYPTED = b"PARE"
"""How a Parquet file with an encrypted footer begins."""
pytestmark = [
    pytest.mark.slow,
    pytest.mark.exhaustive,
    pytest.mark.skipif(not has_compiler(), reason="Java here cannot compile a key server"),
]


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[tuple[Host, Callable[[str], LiveEngine]]]:
    """An engine on a catalog that encrypts, and a way to start others beside it that have a fault."""
    server = hive.start(tmp_path)
    properties = {"encryption.kms-impl": "catchment.tests.Keys", "hadoop.iceberg.engine.hive.lock-enabled": "false"}
    depot = Depot("vault", "iceberg", str(tmp_path / "vault"), Catalog("hive", server.uri, properties=properties))
    conf = {**UNPREPARED, "spark.driver.extraClassPath": str(key_server(tmp_path / "classes"))}
    host = Host(engine_plan(depot, conf=conf), tmp_path / "logs")
    started: list[LiveEngine] = [host]

    def beside(fault: str) -> LiveEngine:
        started.append(host.guest(engine_plan(depot, conf=conf, key="sleeper", fault=fault), tmp_path / "beside"))
        return started[-1]

    try:
        host.ready()
        yield host, beside
    finally:
        for each in reversed(started):
            each.process.stop(grace=5)
        server.stop()


def key_server(directory: Path) -> Path:
    """The directory of the compiled key server."""
    found = java.find()
    iceberg = maven.jars(TRAITS.packages["4.1"], found, packages.ivy(), print, Event())
    compiler = Path(found.executable).resolve().with_name("javac")
    subprocess.run([compiler, "-cp", ":".join(iceberg), "-d", directory, KEYS], check=True)
    return directory


def directly(number: int, **more: Any) -> JobPlan:
    rows = f"SELECT {number}L AS id"
    return writing(rows, table("t", "vault"), **{"mode": "append", "commit": "direct", **more})


def test_a_direct_commit_to_an_encrypted_table_is_encrypted_and_fenced(
    vault: tuple[Host, Callable[[str], LiveEngine]], tmp_path: Path
) -> None:
    engine, beside = vault
    engine.ask("CREATE NAMESPACE IF NOT EXISTS vault.raw")
    properties = "'encryption.key-id' = 'key', 'format-version' = '3'"
    engine.ask(f"CREATE TABLE vault.raw.t (id BIGINT) USING iceberg TBLPROPERTIES ({properties})")
    assert engine.fail(directly(0, commit="buffered")).code == "encrypted-table"
    engine.run(directly(1))
    with open_store(f"sqlite:///{tmp_path}/metastore.db") as store:
        sleeper = beside("before-own-commit:stop")
        assert overtaken(engine, sleeper, Filled(store), directly(2), "r-2", directly(3, name="late")) == (1, 1)
    assert ids(engine, "t", "vault") == [1, 2, 3]
    files = list((tmp_path / "vault").glob("**/*.parquet"))
    assert [path.read_bytes()[:4] for path in files] == [ENCRYPTED] * 3
    engine.run(directly(4, mode="overwrite"))
    engine.run(directly(5, options={"write-format": "avro"}))
    assert ids(engine, "t", "vault") == [4, 5]
    check(engine, "t", "vault")

"""A real standalone cluster on loopback, and a second line of Spark on the same lake."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.spark.lake import LiveEngine, by, files, files_depot, lake_depot, table, writing

pytestmark = pytest.mark.slow


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def spark_home() -> Path:
    spec = importlib.util.find_spec("pyspark")
    assert spec
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0])


def takes_connections(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    """The address of a master with one worker, both from the pyspark package."""
    port = free_port()
    master = f"spark://127.0.0.1:{port}"
    deploy = "org.apache.spark.deploy"
    ui = ("--webui-port", "0")
    roles = [
        (f"{deploy}.master.Master", "--host", "127.0.0.1", "--port", str(port), *ui),
        (f"{deploy}.worker.Worker", "--host", "127.0.0.1", "--cores", "2", "--memory", "1g", *ui, master),
    ]
    environment = {**os.environ, "SPARK_HOME": str(spark_home()), "SPARK_WORKER_DIR": str(tmp_path / "work")}
    started = []
    with (tmp_path / "cluster.log").open("w") as log:
        for role in roles:
            command = [str(spark_home() / "bin" / "spark-class"), *role]
            started.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))
            while not takes_connections(port):
                time.sleep(0.2)
        yield master
    for process in reversed(started):
        process.terminate()
        process.wait(30)


def test_a_standalone_cluster_writes_tables_and_files(
    cluster: str, start_java: Callable[..., LiveEngine], tmp_path: Path
) -> None:
    conf = {"spark.executor.memory": "512m", "spark.driver.host": "127.0.0.1", "spark.sql.shuffle.partitions": "2"}
    engine = start_java(lake_depot(tmp_path), files_depot(tmp_path), master=cluster, conf=conf)
    assert engine.ready().application_id.startswith("app-")
    sql = "SELECT id, TIMESTAMP '2020-01-01' AS ts FROM range(0, 100, 1, 4)"
    [report] = engine.run(writing(sql, table("t"), partitions=(by("month", "ts"), by("bucket", "id", 2))))
    assert report.rows == 100
    [report] = engine.run(writing(sql, files(tmp_path / "d", "avro")))
    assert report.rows == 100
    assert engine.value("SELECT count(DISTINCT id) FROM lake.raw.t") == 100


def test_spark_3_5_and_4_1_write_the_same_table(start_java: Callable[..., LiveEngine], tmp_path: Path) -> None:
    depot = lake_depot(tmp_path)
    engines = {spark: start_java(depot, spark=spark, key=spark) for spark in ("3.5", "4.1")}
    for spark, engine in engines.items():
        assert engine.ready(600).spark_version.startswith(f"{spark}.")
    spec = (by("month", "ts", name="month"), by("identity", "part"))
    sent = [
        engine.start_job(
            writing(
                f"SELECT '{spark}' AS spark, id, TIMESTAMP '2026-03-01' AS ts, {n} AS n, DOUBLE('NaN') AS part "
                "FROM range(20)",
                table("t"),
                name=f"j{n}",
                mode="append",
                partitions=spec,
            )
        )
        for n in range(3)
        for spark, engine in engines.items()
    ]
    for pending in sent:
        assert pending.done()[0].rows == 20
    for engine in engines.values():
        found = engine.rows(
            "SELECT spark, count(*), count(DISTINCT n, id) FROM lake.raw.t GROUP BY spark ORDER BY spark"
        )
        assert found == [("3.5", 60, 60), ("4.1", 60, 60)]
        snapshots = engine.inspect("snapshots", table("t"))["snapshots"]
        assert sum(len(snapshot["write_ids"]) for snapshot in snapshots) == 6
    old = engines["3.5"]
    assert old.fail(writing("SELECT nothing FROM range(3)", table("u"))).code == "column-not-found"
    assert old.fail(writing("SELECT 1 FORM x", table("u"))).code == "sql-syntax"
    old.run(writing("SELECT 'x' AS more", table("t"), mode="append", merge_schema=True))
    old.run(writing("SELECT id FROM range(9)", files(tmp_path / "d", "avro")))

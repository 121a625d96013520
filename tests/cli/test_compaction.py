"""The compaction job as a process: it follows a table until it is told to stop."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from tests.cli import program
from tests.matrices import exhaustive
from tests.spark.hosts import Host

ORDERS = "dataos://lakehouse:shop/orders"
LIMITS = "\nmaintain: {lakehouse: {small_files: 2, quiet: 0s}}\n"

RETURNS = "dataos://lakehouse:shop/returns"
NEW_TABLE = """\
name: returns
version: v1
type: workflow
workflow:
  dag:
    - name: returns
      spec:
        stack: flare:7.0
        stackSpec:
          job:
            inputs: [{name: orders, dataset: "dataos://dropzone:none/orders.json", format: json}]
            outputs:
              - {name: orders, dataset: "dataos://lakehouse:shop/returns?acl=rw", options: {saveMode: append}}
"""

pytestmark = pytest.mark.slow


@pytest.fixture
def project(tmp_path: Path, lent: Host) -> Path:
    assert program.call("init", cwd=tmp_path).code == 0
    with (tmp_path / "catchment.yaml").open("a") as file:
        file.write(LIMITS)
    assert program.call("run", "orders.yaml", cwd=tmp_path, java=lent).code == 0
    return tmp_path


def test_a_continuous_compaction_follows_the_table_until_it_is_stopped(project: Path, lent: Host) -> None:
    following = ("compact", ORDERS, "--mode", "continuous", "-o", "json")
    with program.begin(*following, cwd=project, java=lent) as running:
        for number in (1, 2):
            assert program.call("run", "orders.yaml", cwd=project, java=lent).code == 0
            program.wait_until(lambda n=number: running.told.count("became 1") >= 2 * n, "compactions")  # type: ignore[misc]
        second = program.call("compact", ORDERS, cwd=project, java=lent)
        assert (second.code, "lease-held" in second.err) == (4, True)
        running.process.send_signal(signal.SIGTERM)
        answer = running.finish()
    report = json.loads(answer.out)
    assert (answer.code, report["mode"], report["failed"]) == (0, "continuous", 0)
    assert sorted({each["partition"] for each in report["partitions"]}) == ["region=north", "region=south"]
    health = program.call("table", "health", ORDERS, "-o", "json", cwd=project, java=lent).data
    assert (health["files"], health["verdict"]) == (2, "healthy")
    listed = program.call("table", "partitions", ORDERS, "-o", "json", cwd=project, java=lent).data["partitions"]
    assert [(each["partition"], each["files"]) for each in listed] == [("region=north", 1), ("region=south", 1)]
    counted = program.call("query", "SELECT count(*) FROM lakehouse.shop.orders", "-o", "json", cwd=project, java=lent)
    assert counted.data["rows"] == [[15]]


def engine_of(running: program.Running) -> int:
    """The one engine of a command; what it has begun to start has its command line for a moment."""
    found: list[int] = []

    def is_alone() -> bool:
        found[:] = (pid for pid, command in running.family().items() if "guest.py" in command)
        return len(found) == 1

    program.wait_until(is_alone, "the engine")
    return found[0]


@pytest.mark.parametrize("verb", [("compact", ORDERS, "--mode", "continuous"), *exhaustive((("maintain",),))])
def test_a_compaction_that_follows_its_tables_outlives_its_engine(
    project: Path, lent: Host, verb: tuple[str, ...]
) -> None:
    with program.begin(*verb, "-o", "json", cwd=project, java=lent) as running:
        for number in (1, 2):
            assert program.call("run", "orders.yaml", cwd=project, java=lent).code == 0
            program.wait_until(
                lambda n=number: running.told.count("became 1") >= 2 * n or running.process.poll() is not None,  # type: ignore[misc]
                "compactions",
            )
            if number == 1:
                os.kill(engine_of(running), signal.SIGKILL)
        assert running.process.poll() is None, running.told
        assert running.told.count("error[engine-lost]") == 1
        running.process.send_signal(signal.SIGTERM)
        answer = running.finish()
    report = json.loads(answer.out)
    [done] = report.get("tables", [report])
    assert (answer.code, done["failed"], done["compactions"]) == (0, 0, 4)
    counted = program.call("query", "SELECT count(*) FROM lakehouse.shop.orders", "-o", "json", cwd=project, java=lent)
    assert counted.data["rows"] == [[15]]


def test_a_table_with_a_strange_name_does_not_stop_the_others(project: Path, lent: Host) -> None:
    assert program.call("run", "orders.yaml", cwd=project, java=lent).code == 0
    for name in ("`my table`", "`.hidden`"):
        made = f"CREATE TABLE lakehouse.shop.{name} AS SELECT 1 AS id"
        assert program.call("query", made, "--write", "--yes", cwd=project, java=lent).code == 0
    answer = program.call("maintain", "--once", "-o", "json", cwd=project, java=lent)
    [done] = answer.data["tables"]
    assert (answer.code, done["address"], done["compactions"], done["failed"]) == (1, ORDERS, 2, 0)
    assert {each["address"].rpartition("/")[2]: each["code"] for each in answer.data["errors"]} == {
        "my table": "bad-address",
        ".hidden": "address-escapes-depot",
    }


@pytest.mark.exhaustive
def test_the_whole_lake_is_looked_after_until_somebody_stops_it(project: Path, lent: Host) -> None:
    """Tables that are there and one that comes later."""
    (project / "returns.yaml").write_text(NEW_TABLE)
    with program.begin("maintain", "-o", "json", cwd=project, java=lent) as running:
        for _ in range(2):
            for flow in ("orders.yaml", "returns.yaml"):
                assert program.call("run", flow, cwd=project, java=lent).code == 0
        for address in (f"{ORDERS} region=north", f"{ORDERS} region=south", RETURNS):
            program.wait_until(lambda each=address: f"{each}" in running.told, f"a compaction of {address}")  # type: ignore[misc]
        program.wait_until(lambda: _files(project, lent) == [2, 1], "all of it to be merged")
        running.process.send_signal(signal.SIGTERM)
        answer = running.finish()
    done = {each["address"]: each for each in json.loads(answer.out)["tables"]}
    assert (answer.code, sorted(done)) == (0, [ORDERS, RETURNS])
    assert all(each["rewritten_files"] and not each["failed"] for each in done.values())
    counted = "SELECT (SELECT count(*) FROM lakehouse.shop.orders), (SELECT count(*) FROM lakehouse.shop.returns)"
    assert program.call("query", counted, "-o", "json", cwd=project, java=lent).data["rows"] == [[15, 10]]


def _files(project: Path, lent: Host) -> list[int]:
    """The number of files of each table."""
    asked = [("table", "health", address, "-o", "json") for address in (ORDERS, RETURNS)]
    return [program.call(*each, cwd=project, java=lent).data["files"] for each in asked]

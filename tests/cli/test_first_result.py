"""What `init` lays out runs as it is, and every verb that looks at the result answers."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest

import catchment
from catchment.project import address
from tests.cli import program
from tests.spark.hosts import Host

TABLE = "dataos://lakehouse:shop/orders"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("shop")
    program.call("init", cwd=root)
    return root


@pytest.fixture(scope="module")
def result(shop: Path) -> dict[str, Any]:
    answer = program.call("run", "orders.yaml", "--output", "json", cwd=shop)
    assert answer.code == 0, answer.err
    return dict(answer.data)


def test_a_run_reports_what_each_job_wrote(result: dict[str, Any]) -> None:
    assert set(result) == {"run_id", "workflow", "status", "seconds", "jobs", "environment", "variables", "left_out"}
    assert (result["workflow"], result["status"]) == ("orders", "succeeded")
    assert {job["name"]: job["outputs"][0]["rows"] for job in result["jobs"]} == {"orders-north": 2, "orders-south": 3}
    for job in result["jobs"]:
        output = job["outputs"][0]
        assert set(job) == {
            "name",
            "status",
            "attempts",
            "seconds",
            "error",
            "outputs",
            "inputs",
            "engine_seconds",
            "kept",
        }
        assert set(output) == {"name", "dataset", "rows", "files", "snapshot_id", "write_id"}
        assert output["dataset"] == TABLE
        assert output["write_id"] == f"{result['run_id']}/{job['name']}/{output['name']}"


def test_the_history_has_the_run_and_its_logs(shop: Path, result: dict[str, Any]) -> None:
    listed = program.call("runs", "-o", "json", cwd=shop).data["runs"]
    assert [(run["run_id"], run["status"]) for run in listed] == [(result["run_id"], "succeeded")]
    assert result["run_id"] in program.call("runs", cwd=shop).out
    assert program.call("runs", result["run_id"], "-o", "json", cwd=shop).data["jobs"] == result["jobs"]
    logs = program.call("logs", "--job", "orders-north", cwd=shop)
    assert "==> " in logs.out
    assert "orders-north" in logs.out
    assert "orders-south" not in logs.out


def test_a_query_answers_as_json_and_as_csv(shop: Path, result: dict[str, Any], lent: Host) -> None:
    sql = "SELECT region, count(*) AS n, max(ordered_on) AS last FROM lakehouse.shop.orders GROUP BY region ORDER BY 1"
    rows = [["north", 2, "2024-01-04"], ["south", 3, "2024-01-05"]]
    found = program.call("query", sql, "-o", "json", cwd=shop).data
    assert found == {"columns": ["region", "n", "last"], "truncated": False, "rows": rows}
    north = next(job for job in result["jobs"] if job["name"] == "orders-north")["outputs"][0]["snapshot_id"]
    travel = f"SELECT order_id FROM lakehouse.shop.orders VERSION AS OF {north} WHERE region = 'north' ORDER BY 1"
    answer = program.call("query", travel, "--output", "csv", "--limit", "1", cwd=shop, java=lent)
    assert list(csv.reader(io.StringIO(answer.out))) == [["order_id"], ["1"]]
    assert "--limit 0" in answer.err


def test_tables_can_be_looked_at(shop: Path, result: dict[str, Any], lent: Host) -> None:
    listed = program.call("table", "ls", "lakehouse", cwd=shop, java=lent)
    assert TABLE in listed.out
    shown = program.call("table", "show", TABLE, cwd=shop, java=lent)
    assert all(column in shown.out for column in ("order_id", "region", "amount", "ordered_on"))


def test_every_snapshot_says_who_made_it(shop: Path, result: dict[str, Any], lent: Host) -> None:
    snapshots = program.call("table", "snapshots", TABLE, "-o", "json", cwd=shop, java=lent).data["snapshots"]
    written = [output for job in result["jobs"] for output in job["outputs"]]
    for snapshot in snapshots:  # one or two: the jobs may have met in one commit
        assert set(snapshot) == {
            "snapshot_id", "committed_at", "operation", "workflow", "job", "run_id", "write_ids", "writes", "added_rows"
        }  # fmt: skip
        assert (snapshot["workflow"], snapshot["run_id"]) == ("orders", result["run_id"])
        assert snapshot["write_ids"] == [write["write_id"] for write in snapshot["writes"]]
        assert snapshot["added_rows"] == sum(write["rows"] for write in snapshot["writes"])
    found = {write["write_id"]: (write["rows"], s["snapshot_id"]) for s in snapshots for write in s["writes"]}
    assert found == {output["write_id"]: (output["rows"], output["snapshot_id"]) for output in written}
    text = program.call("table", "snapshots", TABLE, cwd=shop, java=lent).out
    for output in written:
        assert any(line.split()[-2:] == [output["write_id"], str(output["rows"])] for line in text.splitlines())


def test_the_same_from_python(shop: Path, result: dict[str, Any], lent: Host) -> None:
    project = catchment.open(shop)
    assert project.validate("orders.yaml") == ()
    assert [job.name for job in project.plan("orders.yaml").jobs] == ["orders-north", "orders-south"]
    assert [run.run_id for run in project.runs()] == [result["run_id"]]
    assert project.show(result["run_id"]).status == "succeeded"
    with project.lake() as lake:
        assert lake.query("SELECT count(*) FROM lakehouse.shop.orders").rows == ((5,),)
        files = lake.inspect("files", address.parse(TABLE))["files"]
    assert len(files) == sum(job["outputs"][0]["files"] for job in result["jobs"])

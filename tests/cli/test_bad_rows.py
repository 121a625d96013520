"""The example of the how-to, run as it is written; then with each way of treating bad rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli import pages, program
from tests.spark.hosts import Host

PAGE = "docs/how-to/bad-rows.md"
TO_QUARANTINE = """\
                badRows: quarantine
                quarantine: dataos://lakehouse:shop/bad_rows?acl=rw
"""


@pytest.mark.slow
@pytest.mark.exhaustive
def test_the_example_and_the_other_ways(tmp_path: Path, lent: Host) -> None:
    project = tmp_path / "shop"
    assert program.call("init", project, cwd=tmp_path).code == 0
    flow, sales = project / "sales.yaml", "dataos://dropzone:none/sales.csv"

    told = pages.do(PAGE, project, lent)
    assert ["load-sales", sales, "4"] in [line.split() for line in told.splitlines()]
    [run] = program.call("runs", "-o", "json", cwd=project).data["runs"]
    [job] = program.call("runs", run["run_id"], "-o", "json", cwd=project).data["jobs"]
    assert [output["rows"] for output in job["outputs"]] == [2, 4]
    assert job["inputs"] == [{"name": "sales", "dataset": sales, "bad_rows": 4}]
    reasons = program.call("query", "SELECT reason FROM lakehouse.shop.bad_rows", "-o", "json", cwd=project, java=lent)
    assert sorted(reason for (reason,) in reasons.data["rows"]) == [
        "amount: 'about 7' is not DECIMAL(10,2)",
        "id: 'x' is not INT",
        "not 3 columns",
        "not 3 columns",
    ]

    text = flow.read_text()
    flow.write_text(text.replace(TO_QUARANTINE, "                badRows: drop\n"))
    dropped = program.call("run", flow, "-o", "json", cwd=project, java=lent)
    assert (dropped.code, "warning: input sales: 4 bad rows dropped" in dropped.err) == (0, True), dropped.err
    assert dropped.data["jobs"][0]["inputs"] == job["inputs"]

    flow.write_text(text.replace(TO_QUARANTINE, ""))
    failed = program.call("run", flow, "-o", "json", cwd=project, java=lent)
    error = failed.data["jobs"][0]["error"]
    assert (failed.code, error["code"], error["line"]) == (1, "bad-rows", 13)
    first = f"{project}/data/sales.csv:3 (amount: 'about 7' is not DECIMAL(10,2))"
    assert f"4 bad rows in 1 file of {sales}: {first}" in error["message"]
    count = program.call("query", "SELECT count(*) FROM lakehouse.shop.sales", "-o", "json", cwd=project, java=lent)
    assert count.data["rows"] == [[4]]

"""The compaction job as a process: it follows a table until it is told to stop."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.cli import program
from tests.spark.hosts import Host

ORDERS = "dataos://lakehouse:shop/orders"
LIMITS = "\nmaintain: {lakehouse: {small_files: 2, quiet: 0s}}\n"

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
    counted = program.call("query", "SELECT count(*) FROM lakehouse.shop.orders", "-o", "json", cwd=project, java=lent)
    assert counted.data["rows"] == [[15]]

"""The pages of the docs, done as they are written, in the project that `catchment init` makes, after its run."""

from __future__ import annotations

import json
import re
import signal
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

import catchment
from tests.cli import pages, program, projects
from tests.matrices import exhaustive
from tests.spark.hosts import Host

ORDERS = "dataos://lakehouse:shop/orders"
COUNT = "SELECT count(*) FROM lakehouse.shop.orders"

pytestmark = pytest.mark.slow


@pytest.fixture
def project(tmp_path: Path, lent: Host) -> Path:
    assert program.call("init", cwd=tmp_path).code == 0
    ran = program.call("run", "orders.yaml", cwd=tmp_path, java=lent)
    assert ran.code == 0, ran.err
    return tmp_path


def drop(project: Path, file: str, rows: Iterable[Mapping[str, Any]]) -> None:
    (project / "data" / file).write_text("".join(json.dumps(row) + "\n" for row in rows))


def rows(project: Path, sql: str) -> list[tuple[Any, ...]]:
    return list(catchment.open(project).query(sql).rows)


def test_the_readme(tmp_path: Path, lent: Host) -> None:
    """What is typed beside `.venv` is done there, the rest in `shop/`, as the page says."""
    told = ""
    for block in pages.blocks("README.md"):
        beside = block.language == "python" or ".venv" in block.commands
        where = tmp_path if beside else tmp_path / "shop"
        if block.language == "python":
            told += pages.execute([sys.executable, "-c", block.text], where, lent)
        elif commands := re.sub(r"^make .*\n", "", block.commands, flags=re.MULTILINE):
            told += pages.shell(commands, where, lent)
    first = next(block.text for block in pages.blocks("README.md") if "catchment init" in block.text)
    shown = [line for line in _shape(first) if not line.startswith("$")]
    assert "run RUN of orders: succeeded after SECONDS s, SECONDS s of it to start Spark" in shown
    assert shown == [line for line in _shape(told) if line in shown][: len(shown)]
    assert f"shared {ORDERS}: orders-north, orders-south: both append" in told
    assert "succeeded [2, 3]\n((10,),)\n" in told


def _shape(text: str) -> list[str]:
    """The lines of a text without what differs from run to run."""
    for what, instead in (r"run \S+ of", "run RUN of"), (r"\b\d+\.\d\b", "SECONDS"), (r"\b\d{12,}", "SNAPSHOT"):
        text = re.sub(what, instead, text)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    return [line for line in lines if line.strip("─")]


@pytest.mark.parametrize(
    "page", ["two-writers", "rerun-safely", *exhaustive("environments", "many-engines", "replay", "schedule")]
)
def test_a_page(project: Path, lent: Host, page: str) -> None:
    pages.do(f"docs/how-to/{page}.md", project, lent)  # raises if a command fails


@pytest.mark.exhaustive
def test_the_reference_of_python(tmp_path: Path, lent: Host) -> None:
    assert program.call("init", "shop", cwd=tmp_path).code == 0
    told = pages.do("docs/reference/python.md", tmp_path, lent)
    assert "[('orders-north', 2), ('orders-south', 3)]" in told
    assert "job-not-found" in told
    assert "run-finished" in told


@pytest.mark.exhaustive
def test_services(project: Path, lent: Host) -> None:
    told = pages.do("docs/how-to/services.md", project, lent)
    assert "succeeded with exit code 0" in told
    listed = program.call("services", "ls", "-o", "json", cwd=project).data["services"]
    assert [(each["name"], each["status"]) for each in listed] == [("nights", "stopped"), ("run-orders", "succeeded")]
    run_id = listed[1]["command"][-1]
    assert program.call("runs", run_id, "-o", "json", cwd=project).data["status"] == "succeeded"
    assert rows(project, COUNT) == [(10,)]


def test_warm(project: Path, lent: Host) -> None:
    told = pages.do("docs/how-to/warm.md", project, lent)
    assert re.search(r"nobody +2 +3 ", told)  # two jobs and a query
    assert program.call("engines", "-o", "json", cwd=project).data["residents"] == []
    assert rows(project, COUNT) == [(10,)]


def test_streaming(project: Path, lent: Host) -> None:
    told = pages.do("docs/how-to/streaming.md", project, lent)
    assert re.search(r"1 +north *\n *2 +south", told)
    again = program.call("run", "arrivals.yaml", "-o", "json", cwd=project, java=lent)
    assert (again.code, again.data["jobs"][0]["outputs"]) == (0, [])
    text = (project / "arrivals.yaml").read_text().replace("triggerMode: AvailableNow", "outputMode: append")
    (project / "endless.yaml").write_text(text)
    drop(project, "arriving/3.json", [{"order_id": 3, "region": "east", "amount": 30.0}])
    with program.begin("run", "endless.yaml", "--wait", cwd=project, java=lent) as running:
        program.wait_until(lambda: "batch 2: 1 row" in running.told, "a batch")
        running.process.send_signal(signal.SIGTERM)
        assert running.finish().code == 130
    ids = "SELECT order_id FROM lakehouse.shop.arrived ORDER BY order_id"
    assert rows(project, ids) == [(1,), (2,), (3,)]


@pytest.mark.exhaustive
def test_paimon_tables(tmp_path: Path, older: Host) -> None:
    assert program.call("init", cwd=tmp_path).code == 0
    told = pages.do("docs/how-to/paimon.md", tmp_path, older)
    elsewhere = tmp_path.parent / f"{tmp_path.name}-elsewhere"  # no project is found from here
    elsewhere.mkdir()
    named = ("--warehouse", str(tmp_path / "pond"), "--database", "shop", "--table", "regions")
    settings = ("--catalog-conf", "jdbc.password=tide-4711-x")
    compacted = program.call("compact", *named, *settings, "-o", "json", cwd=elsewhere, java=older)
    assert (compacted.code, compacted.data["mode"]) == (0, "batch"), compacted.err
    assert not any("tide-4711-x" in file.read_text(errors="ignore") for file in elsewhere.rglob("*") if file.is_file())
    assert re.search(r"north +44.4 +2\nsouth +29.2 +3\n", told) or re.search(r"north +2 +44.4\nsouth +3 +29.2\n", told)


@pytest.mark.exhaustive
def test_the_reference_of_workflows(project: Path, lent: Host) -> None:
    pages.do("docs/reference/workflow.md", project, lent)
    assert program.call("run", "large.yaml", cwd=project, java=lent).code == 0
    assert rows(project, "SELECT count(*) FROM lakehouse.shop.large_orders") == [(3,)]


@pytest.mark.exhaustive
def test_merge(project: Path, lent: Host) -> None:
    told = pages.do("docs/how-to/merge.md", project, lent)
    assert re.search(r"2 +25\n *3 +30\n", told)
    assert rows(project, "SELECT id, balance FROM lakehouse.bank.accounts ORDER BY id") == [(2, 25), (3, 30)]


@pytest.mark.exhaustive
def test_maintain(project: Path, lent: Host) -> None:
    assert program.call("run", "orders.yaml", cwd=project, java=lent).code == 0  # a second file in each partition
    pages.do("docs/how-to/maintain.md", project, lent)
    [ran, *_] = program.call("runs", "-o", "json", cwd=project).data["runs"]
    outputs = program.call("runs", ran["run_id"], "-o", "json", cwd=project).data["jobs"][0]["outputs"]
    names = ["rewrite_dataset", "rewrite_manifest", "expire_snapshots", "remove_orphans"]
    assert ([each["name"] for each in outputs], outputs[0]["files"]) == (names, 2)
    expiring = ("table", "expire", ORDERS, "--older-than", "2100-01-01")
    unsure = program.call(*expiring, cwd=project, java=lent)
    assert (unsure.code, "not-confirmed" in unsure.err) == (2, True)
    expired = program.call(*expiring, "--yes", cwd=project, java=lent)
    assert (expired.code, ": removed" in expired.out) == (0, True), expired.err
    compacting = ("table", "compact", ORDERS, "--property", "rewrite-all=true")
    planned = program.call(*compacting, "--dry-run", cwd=project, java=lent)
    assert (planned.code, "would be: 2 rewritten files" in planned.out) == (0, True), planned.err
    compacted = program.call(*compacting, "-o", "json", cwd=project, java=lent)
    assert (compacted.data["rewritten_files"], compacted.data["added_files"]) == (2, 2)
    assert rows(project, COUNT) == [(10,)]


def test_compaction(project: Path, lent: Host) -> None:
    assert program.call("run", "orders.yaml", cwd=project, java=lent).code == 0  # a second file in each partition
    told = pages.do("docs/how-to/compaction.md", project, lent)
    assert "2 of 2 partitions need compaction" in told
    assert "region=north: 2 files became 1 (2 small files (the limit is 2))" in told
    health = program.call("table", "health", ORDERS, "-o", "json", cwd=project, java=lent).data
    assert (health["verdict"], health["command"], health["files"]) == ("healthy", None, 2)
    assert health["last_compaction"]
    assert rows(project, COUNT) == [(10,)]
    wrong = program.call("compact", ORDERS, "--partition", "colour=red", cwd=project, java=lent)
    assert (wrong.code, "unknown-partition-column" in wrong.err) == (2, True)


@pytest.mark.exhaustive
def test_write_audit_publish(project: Path, lent: Host) -> None:
    page = "docs/how-to/write-audit-publish.md"
    told = pages.do(page, project, lent)
    assert f"main of {ORDERS} moved to snapshot" in told
    assert rows(project, COUNT) == [(10,)]
    drop(project, "orders.json", [{"order_id": 6, "region": "north", "amount": -5.0, "ordered_on": "2024-01-06"}])
    failed = program.call("run", "audited.yaml", cwd=project, java=lent)
    assert (failed.code, "1 of 11 orders have a negative amount" in failed.err) == (1, True)
    assert rows(project, COUNT) == [(10,)]
    asked = program.call("table", "branch", "delete", ORDERS, "audit", cwd=project, java=lent)
    assert (asked.code, "would delete branch audit" in asked.err, "not-confirmed" in asked.err) == (2, True, True)
    assert program.call("table", "branch", "delete", ORDERS, "audit", "--yes", cwd=project, java=lent).code == 0
    refused = program.call("table", "branch", "fast-forward", ORDERS, "audit", cwd=project, java=lent)
    assert (refused.code, "branch-not-found" in refused.err) == (2, True)


@pytest.mark.exhaustive
def test_publish(project: Path, lent: Host) -> None:
    told = pages.do("docs/how-to/publish.md", project, lent)
    assert "lakehouse_published shows v2 00001-" in told
    listed = program.call("table", "versions", ORDERS, "-o", "json", cwd=project, java=lent).data["versions"]
    assert [each["version"] for each in listed if each["published"]] == [2]
    [first, *_, back] = program.call("table", "publications", ORDERS, "-o", "json", cwd=project).data["publications"]
    assert (first["job"], first["file"], back["file"]) == ("publish", listed[-1]["file"], listed[1]["file"])
    shown = program.call("query", "--published", COUNT, "-o", "json", cwd=project, java=lent).data["rows"]
    assert shown[0][0] < rows(project, COUNT)[0][0] == 10


LOADING = projects.workflow(
    "loading",
    projects.job(
        "load",
        "SELECT order_id, region, amount, to_date(ordered_on) AS ordered_on FROM trips",
        source="dropzone:none/orders.json",
        to="lakehouse:shop/orders",
    ),
)


def load(project: Path, java: Host, *orders: tuple[int, str]) -> None:
    (project / "loading.yaml").write_text(LOADING)
    made = [{"order_id": id, "region": "east", "amount": 1.0, "ordered_on": day} for id, day in orders]
    drop(project, "orders.json", made)
    loaded = program.call("run", "loading.yaml", cwd=project, java=java)
    assert loaded.code == 0, loaded.err


@pytest.mark.exhaustive
def test_incremental(project: Path, lent: Host) -> None:
    load(project, lent, (6, "2024-02-01"), (7, "2024-04-01"))
    pages.do("docs/how-to/incremental.md", project, lent)
    of_job = ("orders-by-month", "orders")
    [state] = program.call("state", "ls", "-o", "json", cwd=project).data["states"]
    assert (state["workflow"], state["job"], state["keys"]) == (*of_job, {"start": "2024-05-01"})
    windows = program.call("state", "show", *of_job, "-o", "json", cwd=project).data["windows"]
    assert [window["cause"] for window in windows][:2] == ["import", "reset"]
    read = [each["inputs"]["new_orders"]["values"]["start"] for each in windows if each["cause"] == "run"]
    assert read == ["2024-04-01", "2024-03-01", "2024-02-01", "2024-01-01"]
    ids = "SELECT order_id FROM lakehouse.marts.orders ORDER BY order_id"
    assert rows(project, ids) == [(id,) for id in range(1, 8)]
    load(project, lent, (33, "2024-03-03"))  # late
    filled = program.call("run", "by-month.yaml", "--backfill", "2024-02-01..2024-04-01", cwd=project, java=lent)
    assert (filled.code, rows(project, ids)[-1]) == (0, (33,)), filled.err
    told = program.call("state", "set", *of_job, "new_orders", "start=2024-02-01", "--dry-run", cwd=project)
    assert "would change from start = 2024-05-01 to start = 2024-02-01" in told.out
    assert program.call("state", "reset", *of_job, cwd=project).code == 2  # nobody can be asked here

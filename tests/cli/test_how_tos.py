"""The how-tos, done as they are written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

import catchment
from tests.cli import program, projects
from tests.cli.projects import SETTINGS
from tests.spark.hosts import Host
from tests.spark.readers import pyiceberg_ids

HOW_TOS = Path(__file__).parent.parent.parent / "docs" / "how-to"
ORDERS = "dataos://lakehouse:shop/orders"


def example(page: str, project: Path) -> Path:
    """The first workflow of a page, in a file of the project."""
    found = re.search(r"^```yaml\n(name: .*?)^```", (HOW_TOS / page).read_text(), re.DOTALL | re.MULTILINE)
    assert found
    (project / "flow.yaml").write_text(found[1])
    return project / "flow.yaml"


def settings(page: str) -> str:
    """The project file that a page shows."""
    found = re.search(r"^```yaml\n(depots:.*?)^```", (HOW_TOS / page).read_text(), re.DOTALL | re.MULTILINE)
    assert found
    return found[1]


def drop(project: Path, file: str, rows: Iterable[Mapping[str, Any]]) -> None:
    (project / "dropzone" / file).write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "catchment.yaml").write_text(SETTINGS)
    (tmp_path / "dropzone").mkdir()
    return tmp_path


def rows(project: Path, sql: str) -> list[tuple[Any, ...]]:
    return list(catchment.open(project).query(sql).rows)


@pytest.mark.slow
def test_merge(project: Path, lent: Host) -> None:
    flow = example("merge.md", project)
    opened = [{"id": n, "balance": 10, "op": "opened", "at": 1} for n in (1, 2, 3)]
    drop(project, "changes.json", [*opened, {"id": 3, "balance": 30, "op": "paid", "at": 2}])
    first = program.call("run", flow, "-o", "json", cwd=project, java=lent)
    assert first.code == 0, first.err
    later = [{"id": 1, "balance": 0, "op": "closed", "at": 3}, {"id": 2, "balance": 25, "op": "paid", "at": 3}]
    drop(project, "changes.json", later)
    second = program.call("run", flow, "-o", "json", cwd=project, java=lent)
    assert second.data["jobs"][0]["outputs"][0]["rows"] == 2
    assert rows(project, "SELECT id, balance FROM lakehouse.bank.accounts ORDER BY id") == [(2, 25), (3, 30)]


@pytest.mark.slow
def test_maintain(project: Path, lent: Host) -> None:
    flow = example("maintain.md", project)
    sql = "CREATE TABLE lakehouse.shop.orders AS SELECT id, id % 3 AS customer FROM range(0, 30, 1, 3)"
    assert program.call("query", "CREATE NAMESPACE lakehouse.shop", cwd=project, java=lent).code == 0
    assert program.call("query", sql, cwd=project, java=lent).code == 0
    ran = program.call("run", flow, "-o", "json", cwd=project, java=lent)
    assert ran.code == 0, ran.err
    outputs = ran.data["jobs"][0]["outputs"]
    names = ["rewrite_dataset", "rewrite_manifest", "expire_snapshots", "remove_orphans"]
    assert ([each["name"] for each in outputs], outputs[0]["files"]) == (names, 1)
    expiring = ("table", "expire", ORDERS, "--older-than", "2100-01-01")
    looked = program.call(*expiring, "--dry-run", "-o", "json", cwd=project, java=lent)
    assert (looked.code, len(looked.data["snapshots"]), looked.data["kept"]) == (0, 2, {}), looked.err
    unsure = program.call(*expiring, cwd=project, java=lent)
    assert (unsure.code, "not-confirmed" in unsure.err) == (2, True)
    expired = program.call(*expiring, "--yes", cwd=project, java=lent)
    assert (expired.code, expired.out.count(": removed")) == (0, 2), expired.err
    compacting = ("table", "compact", ORDERS, "--property", "rewrite-all=true")
    planned = program.call(*compacting, "--dry-run", cwd=project, java=lent)
    assert (planned.code, "would be: 1 rewritten files" in planned.out) == (0, True), planned.err
    compacted = program.call(*compacting, "-o", "json", cwd=project, java=lent)
    assert (compacted.data["rewritten_files"], compacted.data["added_files"]) == (1, 1)
    manifests = program.call("table", "rewrite-manifests", ORDERS, "--dry-run", cwd=project, java=lent)
    assert (manifests.code, "would be: 2 rewritten manifests" in manifests.out) == (0, True), manifests.err
    orphans = program.call("table", "remove-orphans", ORDERS, "--yes", cwd=project, java=lent)
    assert (orphans.code, "0 files removed" in orphans.out) == (0, True), orphans.err


@pytest.mark.slow
def test_write_audit_publish(project: Path, lent: Host) -> None:
    flow = example("write-audit-publish.md", project)
    drop(project, "orders.json", [{"id": 1, "amount": 5}])
    assert program.call("run", flow, cwd=project, java=lent).code == 0
    counting = "SELECT count(*) FROM lakehouse.shop.orders"
    assert rows(project, counting) == [(0,)]
    looked = program.call(
        "table", "branch", "fast-forward", ORDERS, "audit", "--dry-run", "-o", "json", cwd=project, java=lent
    )
    published = program.call("table", "branch", "fast-forward", ORDERS, "audit", cwd=project, java=lent)
    assert (published.code, len(looked.data["commits"]) >= 1) == (0, True), published.err
    assert "main of dataos://lakehouse:shop/orders moved to snapshot" in published.out
    assert rows(project, counting) == [(1,)]
    drop(project, "orders.json", [{"id": 2, "amount": -5}])
    failed = program.call("run", flow, cwd=project, java=lent)
    assert failed.code == 1
    assert "an order has a negative amount" in failed.err
    assert rows(project, counting) == [(1,)]
    asked = program.call("table", "branch", "delete", ORDERS, "audit", cwd=project, java=lent)
    assert (asked.code, "would delete branch audit" in asked.err, "not-confirmed" in asked.err) == (2, True, True)
    assert program.call("table", "branch", "delete", ORDERS, "audit", "--yes", cwd=project, java=lent).code == 0
    refused = program.call("table", "branch", "fast-forward", ORDERS, "audit", cwd=project, java=lent)
    assert (refused.code, "branch-not-found" in refused.err) == (2, True)


@pytest.mark.slow
def test_publish(project: Path, lent: Host) -> None:
    (project / "catchment.yaml").write_text(settings("publish.md"))
    flow, counting = example("publish.md", project), "SELECT count(*) FROM lakehouse.shop.orders"
    for number in (1, 2):
        drop(project, "orders.json", [{"id": number, "amount": 5}])
        ran = program.call("run", flow, "-o", "json", cwd=project, java=lent)
        assert ran.code == 0, ran.err
    assert ran.data["jobs"][1]["outputs"][0]["name"] == "set_version"
    back = program.call("table", "publish", ORDERS, "--version", "v2", cwd=project, java=lent)
    assert "lakehouse_published shows v2 00001-" in back.out, back.err
    shown = program.call("query", "--published", counting, "-o", "json", cwd=project, java=lent)
    assert (shown.data["rows"], rows(project, counting)) == ([[1]], [(2,)])
    listed = program.call("table", "versions", ORDERS, "-o", "json", cwd=project, java=lent).data["versions"]
    assert [(v["version"], v["working"], v["published"]) for v in listed] == [
        (1, False, False),
        (2, False, True),
        (3, True, False),
    ]
    made = program.call("table", "publications", ORDERS, "-o", "json", cwd=project, java=lent).data["publications"]
    assert [(p["job"], p["file"]) for p in made] == [
        ("publish", listed[1]["file"]),
        ("publish", listed[2]["file"]),
        (None, listed[1]["file"]),
    ]
    sql = (HOW_TOS / "publish.md").read_text()
    assert 'SqlCatalog("lakehouse_published", uri="sqlite:///lake/catalog.db")' in sql
    assert pyiceberg_ids(project / "lake" / "catalog.db", "lakehouse_published", "shop.orders") == [1]


LOADING = projects.workflow(
    "loading",
    projects.job(
        "load",
        "SELECT id, to_timestamp(ordered) AS ordered FROM trips",
        source="dropzone:none/orders.json",
        to="lakehouse:shop/orders",
    ),
)


@pytest.mark.slow
def test_incremental(project: Path, lent: Host) -> None:
    (project / "loading.yaml").write_text(LOADING)
    drop(project, "orders.json", [{"id": month, "ordered": f"2024-0{month}-01 00:00:00"} for month in (1, 2, 4)])
    assert program.call("run", "loading.yaml", cwd=project, java=lent).code == 0
    flow, of_job = example("incremental.md", project), ("orders-by-month", "orders")
    first = program.call("run", flow, "-o", "json", cwd=project, java=lent)
    assert first.data["jobs"][0]["outputs"][0]["rows"] == 1, first.err
    assert "start = 2024-01-01 00:00:00, end = 2024-02-01 00:00:00" in first.err
    rest = program.call("run", flow, "--until-caught-up", cwd=project, java=lent)
    assert (rest.code, "nothing new since new_orders: start = 2024-05-01 00:00:00" in rest.err) == (0, True)
    [state] = program.call("state", "ls", "-o", "json", cwd=project, java=lent).data["states"]
    assert (state["workflow"], state["job"], state["keys"]) == (*of_job, {"start": "2024-05-01 00:00:00"})
    shown = program.call("state", "show", *of_job, "-o", "json", cwd=project, java=lent).data["windows"]
    assert [window["inputs"]["new_orders"]["values"]["start"][:7] for window in reversed(shown)] == [
        *("2024-01", "2024-02", "2024-03", "2024-04")
    ]
    ids = "SELECT id FROM lakehouse.marts.orders ORDER BY id"
    assert rows(project, ids) == [(1,), (2,), (4,)]
    drop(project, "orders.json", [{"id": 33, "ordered": "2024-03-03 03:03:03"}])  # late
    assert program.call("run", "loading.yaml", cwd=project, java=lent).code == 0
    filled = program.call("run", flow, "--backfill", "2024-02-01..2024-04-01", cwd=project, java=lent)
    assert (filled.code, rows(project, ids)) == (0, [(1,), (2,), (4,), (33,)]), filled.err
    exported = program.call("state", "export", cwd=project, java=lent)
    (project / "state.json").write_text(exported.out)
    told = program.call(
        "state", "set", *of_job, "new_orders", "start=2024-02-01 00:00:00", "--dry-run", cwd=project, java=lent
    )
    assert "would change from start = 2024-05-01 00:00:00 to start = 2024-02-01 00:00:00" in told.out
    assert program.call("state", "reset", *of_job, cwd=project, java=lent).code == 2  # nobody can be asked here
    assert program.call("state", "reset", *of_job, "--yes", cwd=project, java=lent).code == 0
    assert program.call("state", "ls", "-o", "json", cwd=project, java=lent).data["states"] == []
    assert program.call("state", "import", "state.json", "--yes", cwd=project, java=lent).code == 0
    [again] = program.call("state", "ls", "-o", "json", cwd=project, java=lent).data["states"]
    assert again["keys"] == state["keys"]
    causes = [
        window["cause"]
        for window in program.call("state", "show", *of_job, "-o", "json", cwd=project, java=lent).data["windows"]
    ]
    assert causes[:4] == ["import", "reset", "backfill", "backfill"]

"""The published two-writer workflow, with its one broken line repaired, runs."""

import json
import shutil
from pathlib import Path

import pytest

import catchment
from tests.cli import program, projects
from tests.spark.hosts import Host

SEED = Path(__file__).parent.parent / "workflows" / "seed-000.yaml"
MONTH = 31 * 24 * 3600 * 1000


@pytest.mark.slow
def test_the_repaired_seed_runs_without_any_configuration(tmp_path: Path) -> None:
    shutil.copy(SEED, tmp_path / "taxi.yaml")
    # Nobody configured the depots: they are embedded.
    trips = tmp_path / ".catchment" / "depots" / "thirdparty01" / "files" / "ny-taxi-data"
    trips.mkdir(parents=True)
    rows = [{"vendor_id": 1 + number % 2, "pickup_datetime": MONTH * number} for number in range(30)]
    (trips / "part-0.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    answer = program.call("run", "taxi.yaml", "--jobs", "2", "-o", "json", cwd=tmp_path)
    assert answer.code == 0, answer.err
    assert {job["name"]: job["outputs"][0]["rows"] for job in answer.data["jobs"]} == {
        "nytaxi-vendor-one": 15,
        "nytaxi-vendor-two": 15,
    }
    assert "warning[output-takes-last-step]" in answer.err
    assert "== Physical Plan ==" in program.call("logs", "--job", "nytaxi-vendor-one", cwd=tmp_path).out
    counted = "SELECT vendor_id, count(*) FROM lakehouse.raw01.ny_taxi_ts GROUP BY 1 ORDER BY 1"
    assert catchment.open(tmp_path).query(counted).rows == ((1, 15), (2, 15))


LOAD = projects.workflow(
    "load",
    projects.job(
        "load",
        "SELECT id, to_timestamp(ordered) AS order_date FROM trips",
        source="dropzone:none/orders.json",
        to="icebase:retail/orders_enriched",
    ),
)


@pytest.mark.slow
def test_the_incremental_seed_runs_as_it_was_published_and_shows_each_month(tmp_path: Path, lent: Host) -> None:
    (tmp_path / "load.yaml").write_text(LOAD)
    shutil.copy(SEED.parent / "seed-004.yaml", tmp_path / "orders.yaml")
    orders = tmp_path / ".catchment" / "depots" / "dropzone" / "files"
    orders.mkdir(parents=True)
    rows = [{"id": month, "ordered": f"2020-0{month}-15 12:00:00"} for month in (1, 2)]
    (orders / "orders.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert program.call("run", "load.yaml", cwd=tmp_path, java=lent).code == 0
    project, sql = catchment.open(tmp_path), "SELECT id FROM icebase.sample.order_incremental_08 ORDER BY id"
    for expected in (((1,),), ((1,), (2,))):
        ran = program.call("run", "orders.yaml", "-o", "json", cwd=tmp_path, java=lent)
        assert ran.code == 0, ran.err
        assert ran.data["jobs"][1]["outputs"][0]["name"] == "set_version"
        assert project.query(sql, published=True).rows == project.query(sql).rows == expected

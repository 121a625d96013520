"""The published two-writer workflow, with its one broken line repaired, runs."""

import json
import shutil
from pathlib import Path

import catchment
from tests.cli import program

SEED = Path(__file__).parent.parent / "workflows" / "seed-000.yaml"
MONTH = 31 * 24 * 3600 * 1000


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

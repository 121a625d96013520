"""The published workflow with 2 and with 16 jobs on one table, in one engine and in one each, in both save modes."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

import catchment
from tests.cli import program
from tests.matrices import exhaustive
from tests.spark.hosts import Host

SEED = Path(__file__).parent.parent / "workflows" / "seed-000.yaml"
UNTOUCHED = 99


def workflow(vendors: list[int], *, overwrite: bool) -> dict[str, Any]:
    """The seed with one job per vendor; what its comments say of overwriting is done."""
    published = yaml.safe_load(SEED.read_text())
    template = published["workflow"]["dag"][0]
    published["workflow"]["dag"] = [of_vendor(copy.deepcopy(template), vendor, overwrite) for vendor in vendors]
    return dict(published)


def of_vendor(job: dict[str, Any], vendor: int, overwrite: bool) -> dict[str, Any]:
    job["name"] = f"nytaxi-vendor-{vendor}"
    spec = job["spec"]["stackSpec"]["job"]
    first = spec["steps"][0]["sequence"][0]
    first["sql"] = first["sql"].replace("vendor_id = 1", f"vendor_id = {vendor}")
    options = spec["outputs"][0]["options"]
    options["iceberg"]["partitionSpec"] = [{"type": "identity", "column": "vendor_id"}]
    if overwrite:
        options["saveMode"] = "overwrite"
        options["iceberg"]["properties"]["overwrite-mode"] = "dynamic"
    return job


def run(project: Path, vendors: list[int], *, overwrite: bool, at_once: int, java: Host | None) -> list[int]:
    """Run the workflow; returns the rows that each job has written."""
    (project / "taxi.yaml").write_text(yaml.safe_dump(workflow(vendors, overwrite=overwrite), sort_keys=False))
    answer = program.call("run", "taxi.yaml", "--jobs", str(at_once), "-o", "json", cwd=project, java=java)
    assert answer.code == 0, answer.err
    return [job["outputs"][0]["rows"] for job in answer.data["jobs"]]


def drop(trips: Path, vendors: list[int], days: int) -> None:
    trips.mkdir(parents=True, exist_ok=True)
    rows = [{"vendor_id": vendor, "pickup_datetime": 86_400_000 * day} for vendor in vendors for day in range(days)]
    (trips / "part-0.json").write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("jobs", "isolation"), [(16, "shared"), *exhaustive((2, "process"), (2, "shared"), (16, "process"))]
)
def test_append_keeps_all_and_dynamic_overwrite_replaces_only_what_it_touches(
    tmp_path: Path, lent: Host, jobs: int, isolation: str
) -> None:
    java = None if isolation == "process" and jobs == 2 else lent  # two engines with Javas of their own are enough
    project = {
        "engines": {"default": {"master": "local[2]", "isolation": isolation}},
        "depots": {
            "thirdparty01": {"kind": "files", "location": "drop"},
            "lakehouse": {"kind": "iceberg", "location": "lake"},
        },
    }
    (tmp_path / "catchment.yaml").write_text(yaml.safe_dump(project))
    trips, vendors = tmp_path / "drop" / "ny-taxi-data", [*range(1, jobs + 1)]
    at_once = jobs if isolation == "shared" else min(jobs, 4)  # each of them is a process of its own
    drop(trips, [*vendors, UNTOUCHED], 3)
    assert run(tmp_path, [*vendors, UNTOUCHED], overwrite=False, at_once=at_once, java=java) == [3] * (jobs + 1)
    counted = "SELECT vendor_id, count(*) FROM lakehouse.raw01.ny_taxi_ts GROUP BY 1 ORDER BY 1"
    assert catchment.open(tmp_path).query(counted).rows == tuple((vendor, 3) for vendor in (*vendors, UNTOUCHED))
    again = vendors if isolation == "shared" else vendors[:4]
    drop(trips, again, 5)
    assert run(tmp_path, again, overwrite=True, at_once=at_once, java=java) == [5] * len(again)
    days = {**dict.fromkeys((*vendors, UNTOUCHED), 3), **dict.fromkeys(again, 5)}
    assert catchment.open(tmp_path).query(counted).rows == tuple(days.items())

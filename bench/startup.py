"""How long people wait before anything runs: cold verbs that need no engine, and planning a very large DAG.

    make bench            or     .venv/bin/python bench/startup.py

The goals are in seconds because a person waits them; they hold for the machine that the project is developed on.
"""

from __future__ import annotations

import json
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from catchment import plan, project, spec

JOB = """\
  - name: job-{number}
    spec:
      stack: flare:6.0
      compute: runnable-default
      stackSpec:
        job:
          inputs:
            - name: source
              dataset: dataos://dropzone:none/source-{number}?acl=r
              format: json
          steps:
            - sequence:
                - name: changed
                  sql: SELECT *, now() AS seen FROM source WHERE part = {number}
          outputs:
            - name: changed
              dataset: dataos://lakehouse:bench/table_{table}?acl=rw
              format: iceberg
              options: {{saveMode: append}}
{dependencies}"""


def workflow(jobs: int) -> str:
    """A workflow of many jobs: layers of ten, each job after two of the layer before."""
    head = "version: v1\nname: many-jobs\ntype: workflow\nworkflow:\n dag:\n"
    return head + "".join(_job(number) for number in range(jobs))


def _job(number: int) -> str:
    before = [f"job-{number - 10}", f"job-{number - 10 - number % 10 + (number + 1) % 10}"] if number >= 10 else []
    dependencies = "".join(f"      - {name}\n" for name in dict.fromkeys(before))
    return JOB.format(
        number=number, table=number % 7, dependencies=f"    dependencies:\n{dependencies}" if before else ""
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        small, large = Path(directory) / "small.yaml", Path(directory) / "large.yaml"
        small.write_text(workflow(100))
        large.write_text(workflow(1000))
        report("cold `catchment validate`, 100 jobs", [cold("validate", str(small)) for _ in range(9)], 0.5)
        report("planning 1,000 jobs", [planned(large) for _ in range(5)], 1.0)
        project = Path(directory) / "shop"
        cold("init", str(project))
        make_table(project / "lake")
        imported = [seconds(sys.executable, "-c", "import pyiceberg.table") for _ in range(20)]
        print(f"for comparison, `import pyiceberg.table` alone: {told(imported)}")
        for verb, goal in VERBS.items():
            report(f"cold `catchment {verb}`", [cold(*verb.split(), cwd=project) for _ in range(20)], goal)


VERBS = {
    "runs": 0.35,
    "writers": 0.35,
    "table ls lakehouse": 0.9,
    "table show dataos://lakehouse:shop/orders": 0.9,
    "table snapshots dataos://lakehouse:shop/orders": 0.9,
}
"""Verbs that need no engine, with the seconds that they may take."""


def cold(*arguments: str, cwd: Path | None = None) -> float:
    """Seconds of one command of Catchment in a new process."""
    return seconds(str(Path(sys.executable).parent / "catchment"), *arguments, cwd=cwd)


def seconds(*command: str, cwd: Path | None = None) -> float:
    """Seconds of one command in a new process."""
    began = time.monotonic()
    subprocess.run(command, check=True, capture_output=True, cwd=cwd)
    return time.monotonic() - began


def make_table(lake: Path) -> None:
    """Make the table `lakehouse.shop.orders` without Spark: its row in the catalog, and metadata with 100 snapshots."""
    lake.mkdir(parents=True)
    summary = {"operation": "append", "total-records": "5", "total-data-files": "2"}
    snapshots = [{"snapshot-id": n, "timestamp-ms": n * 1000, "summary": summary} for n in range(1, 101)]
    metadata = {
        "location": str(lake / "shop" / "orders"),
        "format-version": 2,
        "last-updated-ms": 100_000,
        "schemas": [{"schema-id": 0, "fields": [{"id": 1, "name": "id", "required": False, "type": "long"}]}],
        "current-schema-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": []}],
        "default-spec-id": 0,
        "current-snapshot-id": 100,
        "snapshots": snapshots,
    }
    (lake / "metadata.json").write_text(json.dumps(metadata))
    with closing(sqlite3.connect(lake / "catalog.db")) as connection, connection:
        connection.execute("CREATE TABLE iceberg_tables (catalog_name, table_namespace, table_name, metadata_location)")
        row = ("lakehouse", "shop", "orders", str(lake / "metadata.json"))
        connection.execute("INSERT INTO iceberg_tables VALUES (?, ?, ?, ?)", row)


def planned(file: Path) -> float:
    """Seconds from the workflow to its plan."""
    workflow, lake = spec.load(file).workflow, project.load(file)
    assert workflow
    began = time.monotonic()
    made, _ = plan.build(workflow, lake)
    assert made
    return time.monotonic() - began


def report(what: str, measured: list[float], goal: float) -> None:
    verdict = "met" if statistics.median(measured) <= goal else "MISSED"
    print(f"{what}: {told(measured)}; goal <= {goal} s: {verdict}")


def told(measured: list[float]) -> str:
    """The median with the range."""
    return f"median {statistics.median(measured):.2f} s ({min(measured):.2f} to {max(measured):.2f})"


if __name__ == "__main__":
    main()

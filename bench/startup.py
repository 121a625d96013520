"""How long people wait before anything runs: cold `catchment validate`, and planning a very large DAG.

    make bench            or     .venv/bin/python bench/startup.py

The goals are in seconds because a person waits them; they hold for the machine that the project is developed on.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
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


def cold(*arguments: str) -> float:
    """Seconds of one command of Catchment in a new process."""
    began = time.monotonic()
    subprocess.run((str(Path(sys.executable).parent / "catchment"), *arguments), check=True, capture_output=True)
    return time.monotonic() - began


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

"""Small projects for the tests: a drop zone with data, a lake, and workflows written from their SQL."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import indent

JOB = """\
- name: {name}
  spec:
    stack: flare:7.0
    compute: runnable-default
    stackSpec:
      job:
        inputs:
          - {{name: trips, dataset: "dataos://{source}?acl=r", format: json}}
        steps:
          - sequence:
              - name: result
                sql: |
{sql}
        outputs:
          - name: result
            dataset: dataos://{to}?acl=rw
            format: {form}
            options: {{saveMode: {mode}}}
  dependencies: [{after}]
"""
SETTINGS = """\
depots:
  dropzone: {kind: files, location: ./dropzone}
  lakehouse: {kind: iceberg, location: ./lake}
engines:
  default: {master: "local[2]", conf: {spark.driver.memory: 1g}}
"""


def make(root: Path, settings: str = SETTINGS) -> Path:
    """A project with twenty trips of two vendors in its drop zone."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "catchment.yaml").write_text(settings)
    (root / "dropzone").mkdir()
    trips = [
        {"trip_id": i, "vendor_id": 1 + i % 2, "fare": i / 2, "pickup_datetime": 86_400_000 * i} for i in range(20)
    ]
    (root / "dropzone" / "trips.json").write_text("".join(json.dumps(trip) + "\n" for trip in trips))
    return root


def shadow(root: Path) -> None:
    """Give a project a module with the name of one of Python's, which nobody may import."""
    (root / "queue.py").write_text("raise ImportError('this is not for Catchment')\n")


def workflow(name: str, *jobs: str) -> str:
    """The text of a workflow."""
    head = f"name: {name}\nversion: v1\ntype: workflow\nworkflow:\n  dag:\n"
    return head + "".join(indent(job, "    ") for job in jobs)


def job(
    name: str,
    sql: str,
    *,
    to: str = "lakehouse:raw/trips",
    source: str = "dropzone:none/trips.json",
    mode: str = "append",
    form: str = "iceberg",
    after: str = "",
) -> str:
    """A job of one input (`trips`), one step and one output."""
    return JOB.format(name=name, sql=indent(sql, " " * 18), to=to, source=source, mode=mode, form=form, after=after)

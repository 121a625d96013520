"""Workflow files for scripted workers, and a program that runs one until it is killed: `python -m … FILE LEASE`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml

from catchment import run
from catchment.plan import prepare
from tests.unit.run.conftest import launch


def write_workflow(root: Path, trace: Path, jobs: dict[str, tuple[str, list[str]]], table: str = "t") -> Path:
    """A workflow whose jobs do what their script says after those that they need; each writes one table."""
    dag = [_node(name, script, needs, trace, table) for name, (script, needs) in jobs.items()]
    root.mkdir(exist_ok=True)
    file = root / "flow.yaml"
    file.write_text(yaml.safe_dump({"name": "flow", "version": "v1", "type": "workflow", "workflow": {"dag": dag}}))
    return file


def _node(name: str, script: str, needs: list[str], trace: Path, table: str) -> dict[str, Any]:
    output = {"name": "s", "dataset": f"dataos://lake:raw/{table}?acl=rw", "options": {"saveMode": "append"}}
    work = {
        "inputs": [{"name": "i", "dataset": "dataos://lake:raw/source?acl=r", "format": "iceberg"}],
        "steps": [{"sequence": [{"name": "s", "sql": script or "done"}]}],
        "outputs": [{**output, "format": "iceberg"}],
    }
    spec = {"stack": "flare:7.0", "envs": {"TRACE": str(trace)}, "stackSpec": {"job": work}}
    return {"name": name, "spec": spec, "dependencies": needs}


def main() -> None:
    project, plan = prepare(Path(sys.argv[1])).require()
    run.start(plan, project, launch=launch, timing=run.Timing(lease=float(sys.argv[2])))


if __name__ == "__main__":
    main()

"""The recipes of docs/how-to/replay.md, as they are written there."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from catchment.project import load
from catchment.run.run_history import find
from tests.cli import program, projects
from tests.spark.hosts import Host

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "replay.md"
MARKS = (
    "SELECT vendor_id, sum(fare), min(loaded_at), max(loaded_at) FROM lakehouse.marts.trips "
    "GROUP BY vendor_id ORDER BY vendor_id"
)


def correct(root: Path) -> None:
    """Every fare is one more."""
    place = root / "dropzone" / "trips.json"
    trips = [json.loads(line) for line in place.read_text().splitlines()]
    place.write_text("".join(json.dumps(trip | {"fare": trip["fare"] + 1}) + "\n" for trip in trips))


def run(java: Host, root: Path, *arguments: str) -> str:
    answer = program.call("run", *arguments, "-o", "json", cwd=root, java=java)
    assert answer.code == 0, answer.err
    return str(answer.data["run_id"])


@pytest.mark.slow
def test_one_partition_and_then_a_whole_run_are_replayed(lent: Host, tmp_path: Path) -> None:
    [recipe] = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    projects.make(tmp_path)
    (tmp_path / "vendor.yaml").write_text(recipe)
    (tmp_path / "all.yaml").write_text(recipe.replace(" WHERE vendor_id = 1", ""))

    def vendors() -> list[Any]:
        return list(program.call("query", MARKS, "-o", "json", cwd=tmp_path, java=lent).data["rows"])

    first = run(lent, tmp_path, "all.yaml")
    [[_, one, began, _], [_, two, *_]] = vendors()
    correct(tmp_path)
    run(lent, tmp_path, "vendor.yaml")
    [[_, mended, later, _], other] = vendors()
    assert (mended, other) == (one + 10, [2, two, began, began])
    assert later > began
    assert run(lent, tmp_path, "--from-run", first) != first
    assert vendors() == [[1, one + 10, began, began], [2, two + 10, began, began]]
    assert Path(find(load(tmp_path), first).file) == tmp_path / "all.yaml"


def test_a_run_that_is_not_known_cannot_be_replayed(tmp_path: Path) -> None:
    projects.make(tmp_path)
    answer = program.call("run", "--from-run", "yesterday", cwd=tmp_path)
    assert (answer.code, "error[run-not-found]" in answer.err) == (2, True)
    assert "give a workflow FILE, or --from-run RUN" in program.call("run", cwd=tmp_path).err

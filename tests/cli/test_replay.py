"""The recipes of docs/how-to/replay.md, as they are written there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from catchment.project import load
from catchment.run.run_history import find
from tests.cli import pages, program, projects
from tests.spark.hosts import Host

MARKS = (
    "SELECT region, sum(amount), min(loaded_at), max(loaded_at) FROM lakehouse.marts.orders_by_region "
    "GROUP BY region ORDER BY region"
)


def correct(root: Path) -> None:
    """Every amount is one more."""
    place = root / "data" / "orders.json"
    orders = [json.loads(line) for line in place.read_text().splitlines()]
    place.write_text("".join(json.dumps(order | {"amount": order["amount"] + 1}) + "\n" for order in orders))


def run(java: Host, root: Path, *arguments: str) -> str:
    answer = program.call("run", *arguments, "-o", "json", cwd=root, java=java)
    assert answer.code == 0, answer.err
    return str(answer.data["run_id"])


@pytest.mark.slow
def test_one_partition_and_then_a_whole_run_are_replayed(lent: Host, tmp_path: Path) -> None:
    recipe = pages.files("docs/how-to/replay.md")["replay.yaml"]
    program.call("init", cwd=tmp_path)
    (tmp_path / "replay.yaml").write_text(recipe)
    (tmp_path / "all.yaml").write_text(recipe.replace(" WHERE region = 'north'", ""))

    def regions() -> list[Any]:
        return list(program.call("query", MARKS, "-o", "json", cwd=tmp_path, java=lent).data["rows"])

    first = run(lent, tmp_path, "all.yaml")
    [[_, north, began, _], [_, south, *_]] = regions()
    correct(tmp_path)
    run(lent, tmp_path, "replay.yaml")
    [[_, mended, later, _], other] = regions()
    assert (mended, other) == (north + 2, ["south", south, began, began])
    assert later > began
    assert run(lent, tmp_path, "--from-run", first) != first
    assert regions() == [["north", north + 2, began, began], ["south", south + 3, began, began]]
    assert Path(find(load(tmp_path), first).file) == tmp_path / "all.yaml"


def test_a_run_that_is_not_known_cannot_be_replayed(tmp_path: Path) -> None:
    projects.make(tmp_path)
    answer = program.call("run", "--from-run", "yesterday", cwd=tmp_path)
    assert (answer.code, "error[run-not-found]" in answer.err) == (2, True)
    assert "give a workflow FILE, or --from-run RUN" in program.call("run", cwd=tmp_path).err

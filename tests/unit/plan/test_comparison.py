"""Two definitions of a workflow: what is different is found, and where a file or a machine is makes no difference."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from catchment import plan
from catchment.plan.comparison import Change, JobChange, compare
from catchment.plan.definition import Definition
from catchment.run_model import Choices
from tests.unit.plan.flows import PROJECT, J, flow

A = J("a")


def definition(
    folder: Path, *jobs: J, select: tuple[str, ...] = (), head: str = "", lake: str = "./lake"
) -> Definition:
    folder.mkdir(exist_ok=True)
    (folder / "catchment.yaml").write_text(PROJECT.replace("./lake", lake))
    (folder / "flow.yaml").write_text(head + flow(*jobs))
    _, made = plan.prepare(folder / "flow.yaml", choices=Choices(select=select)).require()
    recorded: Definition = json.loads(json.dumps(made.definition))
    return recorded


def test_the_place_of_a_file_makes_no_difference(tmp_path: Path) -> None:
    one = definition(tmp_path / "one", A)
    other = definition(tmp_path / "other", A, head="# a comment\n", lake="./pond")
    assert compare(one, other) == ()


def test_jobs_that_come_and_go(tmp_path: Path) -> None:
    before, after = definition(tmp_path, A, J("b")), definition(tmp_path, J("c"), A)
    assert compare(before, after) == (JobChange("c", "added"), JobChange("b", "removed"))


def test_jobs_that_are_left_out_are_part_of_the_definition(tmp_path: Path) -> None:
    assert compare(definition(tmp_path, A, J("b")), definition(tmp_path, A, J("b"), select=("b",))) == ()


def test_what_changes_in_a_job(tmp_path: Path) -> None:
    before = definition(tmp_path, A, J("b"))
    after = definition(
        tmp_path,
        A,
        J("b", needs="a", mode="overwrite", write=A.write.replace("trips", "rides"), conf="{spark.sql.x: 1}"),
    )
    (job,) = compare(before, after)
    assert (job.name, job.change) == ("b", "changed")
    found = {each.path: (each.before, each.after) for each in job.changes}
    assert found["depends_on"] == (None, '["a"]')
    assert [value for path, value in found.items() if path.endswith(".mode")] == [("append", "overwrite")]
    assert any(after and "raw/rides (iceberg)" in after for _, after in found.values())
    assert found["conf.spark.sql.x"] == (None, "1")


def test_steps_in_another_order(tmp_path: Path) -> None:
    first, second, third = "{name: x, sql: SELECT 1}", "{name: y, sql: SET a=1}", "{name: z, sql: SELECT 2}"
    before = definition(tmp_path, replace(A, steps=[first, second]))
    (job,) = compare(before, definition(tmp_path, replace(A, steps=[third, second, first])))
    assert job.changes == (Change("steps", "x, y", "y, x"), Change("steps.z", None, "SELECT 2"))


def test_changes_in_words() -> None:
    assert Change("outputs.a.mode", "append", None).lines() == ["outputs.a.mode: append -> nothing"]
    sql = Change("steps.a", "SELECT 1,\n  2\nFROM x\n", "SELECT 1,\n  3\nFROM x\n")
    assert sql.lines() == ["steps.a:", "  @@ -1,3 +1,3 @@", "   SELECT 1,", "  -  2", "  +  3", "   FROM x"]

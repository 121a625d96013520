"""A place in SQL, as Spark names it, is found again in the YAML."""

from __future__ import annotations

from pathlib import Path

import pytest

from catchment.errors import Position
from catchment.plan.model import StepPlan
from catchment.spec.model import Step, sql_position
from tests.unit.spec.marked import changed, load_text, unmarked

STEP = "- {name: clean, sql: select * from trips}"
FORMS = {
    "literal": "- name: clean\n  sql: |\n    select a,\n      b\n\n    from §nowhere\n",
    "literal with a comment": "- name: clean\n  sql: |- # why\n    select a\n    from §nowhere\n",
    "literal with a blank first line": "- name: clean\n  sql: |\n\n    select a\n    from §nowhere\n",
    "literal with an indent of its own": "- name: clean\n  sql: |2\n      select a\n      from §nowhere\n",
    "folded": "- name: clean\n  sql: >-\n    select a,\n    b\n    from §nowhere\n",
    "plain on one line": "- name: clean\n  sql: select a from §nowhere\n",
    "plain on two lines": "- name: clean\n  sql: select a\n    from §nowhere\n",
    "in single quotes": "- name: clean\n  sql: 'select ''a''\n    from §nowhere'\n",
    "in double quotes": '- name: clean\n  sql: "select a\n    from §nowhere"\n',
    "with an anchor": "- name: clean\n  sql: &query |\n    select a\n    from §nowhere\n",
    "behind variables": "- name: clean\n  sql: |\n    select ${A}\n    where ${A} in (select ${A} from §nowhere)\n",
}


def spark_place(sql: str) -> tuple[int, int]:
    """Line from 1 and column from 0 of `nowhere`."""
    before = sql[: sql.index("nowhere")]
    return before.count("\n") + 1, len(before) - before.rfind("\n") - 1


def step_of(folder: Path, text: str) -> Step:
    loaded = load_text(folder, text, {"A": "a_long_name"})
    assert loaded.workflow
    assert not [d for d in loaded.diagnostics if d.is_error]
    return loaded.workflow.jobs[0].steps[0]


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_a_place_in_sql_is_found_in_the_file(tmp_path: Path, form: str) -> None:
    indented = form.replace("\n", "\n" + " " * 18).rstrip(" ")
    text, line, column = unmarked(changed(STEP + "\n", indented))
    step = step_of(tmp_path, text)
    at = spark_place(step.sql)
    found = sql_position(step.sql, step.sql_where, step.sql_lines, *at)
    assert found == Position(str(tmp_path / "workflow.yaml"), line, column)


def test_a_literal_block_begins_below_its_indicator(tmp_path: Path) -> None:
    text = changed(STEP, "- name: clean\n                    sql: |\n                      select 1")
    step = step_of(tmp_path, text)
    assert step.sql == "select 1\n"
    assert (step.sql_where.line, step.sql_where.column) == (17, 23)


def test_sql_from_a_file_is_placed_in_that_file(tmp_path: Path) -> None:
    (tmp_path / "clean.sql").write_text("select a\n  from nowhere\n")
    step = step_of(tmp_path, changed("sql: select * from trips", "sqlFile: clean.sql"))
    assert step.sql == "select a\n  from nowhere\n"
    assert step.sql_where == Position(str(tmp_path / "clean.sql"), 1, 1)
    planned = StepPlan(step.name, step.sql, step.where, step.sql_where, step.sql_lines)
    assert planned.position(*spark_place(step.sql)) == Position(str(tmp_path / "clean.sql"), 2, 8)


def test_without_lines_the_start_is_all_that_is_known() -> None:
    start = Position("w.yaml", 3, 4)
    assert sql_position("select 1", start, (), 1, 7) == start

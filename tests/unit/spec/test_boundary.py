"""Workflows include files of their project only, unless the project file allows more."""

from __future__ import annotations

from pathlib import Path

import pytest

from catchment import plan
from catchment.plan.preparation import Prepared
from tests.unit.spec.marked import GOOD, changed

OUTSIDE = "top secret nonsense\n"
INCLUDES = {
    "sqlFile": changed("sql: select * from trips", "sqlFile: {}"),
    "schemaPath": changed("format: json", "format: json, schemaType: spark, schemaPath: {}"),
    "steps": changed("              - sequence:\n", "              - {}\n              - sequence:\n"),
    "file": GOOD + "    - name: two\n      file: {}\n",
    "reference": changed("sql: select * from trips", "sql: 'select \"${{file:{}}}\" from trips'"),
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with a workflow in a directory of its own, and a file beside the project."""
    (tmp_path / "outside.txt").write_text(OUTSIDE)
    (tmp_path / "project" / "flows").mkdir(parents=True)
    (tmp_path / "project" / "link.txt").symlink_to(tmp_path / "outside.txt")
    (tmp_path / "project" / "beside").symlink_to(tmp_path)
    (tmp_path / "project" / "inside.txt").write_text("select * from trips\n")
    (tmp_path / "project" / "flows" / "link.sql").symlink_to("../inside.txt")
    return tmp_path / "project"


def prepared(root: Path, text: str, included: object, settings: str = "") -> Prepared:
    depots = "depots: {raw: {kind: files, location: raw}, lake: {kind: iceberg, location: lake}}\n"
    (root / "catchment.yaml").write_text(depots + settings)
    file = root / "flows" / "flow.yaml"
    file.write_text(text.replace("{}", str(included)).replace("${{", "${").replace("}}'", "}'"))
    return plan.prepare(file, env={})


def codes(found: Prepared) -> list[str]:
    return [each.code for each in found.diagnostics]


@pytest.mark.parametrize("include", INCLUDES)
@pytest.mark.parametrize("path", ["../../outside.txt", "../link.txt", "../beside/outside.txt", "../../none.txt"])
def test_a_file_outside_the_project_is_not_read(include: str, path: str, root: Path) -> None:
    found = prepared(root, INCLUDES[include], path)
    assert codes(found) == ["include-outside"]
    assert "nonsense" not in repr(found)
    absolute = root / "flows" / path
    assert codes(prepared(root, INCLUDES[include], absolute.resolve())) == ["include-outside"]


def test_files_of_the_project_are_read(root: Path) -> None:
    for path in ("../inside.txt", root / "inside.txt", "link.sql"):
        assert codes(prepared(root, INCLUDES["sqlFile"], path)) == []


def test_the_project_file_can_allow_more(root: Path) -> None:
    for allowed in ("..", root.parent):
        found = prepared(root, INCLUDES["sqlFile"], "../link.txt", f"include_paths: ['{allowed}']\n")
        assert "include-outside" not in codes(found)
    found = prepared(root, INCLUDES["sqlFile"], "../link.txt", "include_paths: [../elsewhere]\n")
    assert codes(found) == ["include-outside"]


def test_without_a_project_file_the_directory_of_the_workflow_is_the_project(root: Path) -> None:
    (root / "flows" / "flow.yaml").write_text(INCLUDES["sqlFile"].replace("{}", "../inside.txt"))
    assert codes(plan.prepare(root / "flows" / "flow.yaml", env={})) == ["include-outside"]

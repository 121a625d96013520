"""Variables and environments in plans: what is given is known, and no secret is recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from catchment import plan, project
from catchment.errors import InvalidFiles
from catchment.plan.preparation import Prepared
from catchment.run_model import Choices
from tests.unit.plan.flows import PROJECT, J, flow

ENV = {"LAKE_TOKEN": "hunter2hunter2"}
LAKES = (
    PROJECT.replace("./lake}", "'./${lake}'}")
    + """\
vars: {lake: dev}
environments:
  prod:
    vars: {lake: prod}
    depots: {drop: {kind: files, location: ./prod-drop}}
"""
)


def prepare(folder: Path, choices: Choices, recorded: Choices | None = None) -> Prepared:
    (folder / "catchment.yaml").write_text(LAKES)
    file = folder / "flow.yaml"
    file.write_text(
        "vars: {day: {type: date, default: 2024-01-01}}\n" + flow(J("a", conf="{spark.x: '${day} ${lake}'}"))
    )
    return plan.prepare(file, env=ENV, choices=choices, recorded=recorded)


def conf(prepared: Prepared) -> str:
    _, made = prepared.require()
    return made.engines[0].conf["spark.x"]


def codes(prepared: Prepared) -> list[str]:
    return [each.code for each in prepared.diagnostics]


def test_both_files_know_the_variables(tmp_path: Path) -> None:
    found = prepare(tmp_path, Choices({"day": "2024-05-01", "lake": "trial"}))
    assert conf(found) == "2024-05-01 trial"
    assert found.project
    assert found.project.depots["lakehouse"].location.endswith("/trial")


def test_the_plan_has_every_value_and_the_environment(tmp_path: Path) -> None:
    _, made = prepare(tmp_path, Choices(environment="prod")).require()
    assert made.choices == Choices({"lake": "prod", "day": "2024-01-01"}, environment="prod")


def test_a_project_that_is_open_already_takes_the_values_too(tmp_path: Path) -> None:
    prepare(tmp_path, Choices())
    opened = project.load(tmp_path, env=ENV, environment="prod")
    found = plan.prepare(tmp_path / "flow.yaml", env=ENV, project=opened, choices=Choices({"lake": "trial"}))
    assert conf(found) == "2024-01-01 trial"
    assert found.project
    assert found.project.environment == "prod"


def test_unknown_variables_are_errors_unless_only_an_earlier_run_has_them(tmp_path: Path) -> None:
    earlier = Choices({"gone": "x", "lake": "then"})
    assert codes(prepare(tmp_path, Choices({"dya": "2024-05-01"}))) == ["unknown-variable"]
    assert codes(prepare(tmp_path, Choices({"dya": "2024-05-01"}), earlier)) == ["unknown-variable"]
    assert conf(prepare(tmp_path, Choices(), earlier)) == "2024-01-01 then"
    assert conf(prepare(tmp_path, Choices({"lake": "now"}), earlier)) == "2024-01-01 now"


def test_a_selection_replaces_that_of_an_earlier_run() -> None:
    earlier = Choices({"a": "1", "b": "2"}, ("x",), ("y",))
    assert Choices({"a": "3"}).over(earlier) == Choices({"a": "3", "b": "2"}, ("x",), ("y",))
    assert Choices(exclude=("z",)).over(earlier) == Choices(earlier.variables, (), ("z",))


def test_a_wrong_value_is_not_unknown_too(tmp_path: Path) -> None:
    assert codes(prepare(tmp_path, Choices({"day": "soon"}))) == ["bad-variable-value"]


def test_a_secret_is_not_taken_as_the_value_of_a_variable(tmp_path: Path) -> None:
    (tmp_path / "catchment.yaml").write_text(PROJECT + "include_paths: ['${secret:LAKE_TOKEN}']\n")
    file = tmp_path / "flow.yaml"
    file.write_text("vars: {x: y}\n" + flow(J("a")))
    prepared = plan.prepare(file, env=ENV, choices=Choices({"x": "hunter2hunter2"}))
    assert codes(prepared) == ["secret-in-variable"]
    assert "hunter2" not in repr(prepared.diagnostics)


def test_an_output_to_a_depot_of_several_environments_is_warned_about(tmp_path: Path) -> None:
    def depots(write: str) -> list[str]:
        (tmp_path / "catchment.yaml").write_text(LAKES.replace("prod-drop", "dropzone"))
        file = tmp_path / "flow.yaml"
        file.write_text(flow(J("a", write=write, write_more=", format: json")))
        return codes(plan.prepare(file, env=ENV, choices=Choices(environment="prod")))

    assert depots("dataos://drop:none/out?acl=rw") == ["shared-depot"]


def test_a_project_with_problems_in_its_environment_has_no_plan(tmp_path: Path) -> None:
    prepared = prepare(tmp_path, Choices({"lake": "${secret:X}"}))
    assert prepared.plan  # a value is text, and not filled in again
    (tmp_path / "catchment.yaml").write_text(LAKES.replace("lake: prod", "pond: prod"))
    with pytest.raises(InvalidFiles):
        plan.prepare(tmp_path / "flow.yaml", env=ENV, choices=Choices(environment="prod")).require()

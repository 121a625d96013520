"""What a run was asked for is recorded, and holds when it goes on: variables, the selection, the environment."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from catchment import run
from catchment.plan import prepare
from catchment.run import run_history
from catchment.run_model import Choices
from tests.unit.run.conftest import QUICK, Lab, launch, statuses
from tests.unit.run.workflow_file import write_workflow

RUN = "20260504-030000-aaaaaa"
JOBS: dict[str, tuple[str, list[str]]] = {"a": ("", []), "b": ("${script}", ["a"]), "c": ("", ["b"])}


def write(lab: Lab, default: str) -> Path:
    """A workflow whose second job does what a variable says."""
    file = write_workflow(lab.root, lab.trace_file, JOBS)
    file.write_text(f"vars: {{script: {default}, other: 1}}\n{file.read_text()}")
    (lab.root / "catchment.yaml").write_text(
        "depots: {lake: {kind: iceberg, location: './${place}'}}\n"
        "vars: {place: here}\nenvironments: {prod: {vars: {place: there}}}\n"
    )
    return file


def start(file: Path, choices: Choices, run_id: str | None = None) -> run.Run:
    project, plan = prepare(file, choices=choices).require()
    return run.start(plan, project, launch=launch, timing=QUICK, run_id=run_id)


def resume(file: Path, run_id: str, environment: str | None = None) -> run.Run:
    project, _ = prepare(file, choices=Choices(environment=environment)).require()
    return run.resume(run_id, project, launch=launch, timing=QUICK)


def test_a_resumed_run_has_the_variables_that_it_began_with(lab: Lab) -> None:
    file = write(lab, "beside 1")
    first = start(file, Choices({"script": "fail job"}))
    assert first.variables == {"place": "here", "script": "fail job", "other": "1"}
    again = resume(file, first.run_id)
    assert statuses(again) == {"a": "succeeded", "b": "failed", "c": "skipped"}
    assert run_history.show(prepare(file).require()[0], first.run_id).variables == first.variables


def test_a_resumed_run_has_the_default_of_its_beginning(lab: Lab) -> None:
    first = start(write(lab, "fail job"), Choices())
    again = resume(write(lab, "beside 1"), first.run_id)
    assert (again.status, again.variables["script"]) == ("failed", "fail job")


def test_a_variable_that_the_file_has_lost_is_forgotten(lab: Lab) -> None:
    first = start(write(lab, "fail job"), Choices())
    file = write_workflow(lab.root, lab.trace_file, {"a": ("", []), "b": ("", ["a"])})
    again = resume(file, first.run_id)
    assert (again.status, again.variables) == ("succeeded", {"place": "here"})


def test_the_same_command_again_goes_on_with_the_variables_of_the_beginning(lab: Lab) -> None:
    start(write(lab, "fail job"), Choices(), RUN)
    again = start(write(lab, "beside 1"), Choices(), RUN)
    assert (again.status, again.variables["script"]) == ("failed", "fail job")


def test_only_the_selected_jobs_run_and_a_resumed_run_stays_cut(lab: Lab) -> None:
    file = write(lab, "fail job")
    first = start(file, Choices(select=("b",)))
    assert (statuses(first), first.left_out) == ({"b": "failed"}, ("a", "c"))
    file.write_text(file.read_text().replace("fail job", "beside 1"))
    again = resume(file, first.run_id)
    assert (statuses(again), again.left_out) == ({"b": "failed"}, ("a", "c"))  # its variable is recorded, too
    shown = run_history.show(prepare(file).require()[0], first.run_id)
    assert (statuses(shown), shown.left_out) == ({"b": "failed"}, ("a", "c"))
    assert {line["job"] for line in lab.trace("begin")} == {"b"}


def test_runs_of_an_environment_are_its_own(lab: Lab) -> None:
    file = write(lab, "fail job")
    first = start(file, Choices(environment="prod"))
    assert (first.environment, first.variables["place"]) == ("prod", "there")
    base, there = (prepare(file, choices=Choices(environment=each)).require()[0] for each in (None, "prod"))
    assert run_history.runs(base, 10) == []
    assert [each.environment for each in run_history.runs(there, 10)] == ["prod"]
    assert resume(file, first.run_id, "prod").environment == "prod"
    assert (replace(there, environment=None).home / "runs").exists() is False

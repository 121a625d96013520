"""`import catchment` without Spark: opening, checking and planning, from several threads too."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import catchment
from tests.cli import projects


@pytest.fixture
def root(tmp_path: Path) -> Path:
    projects.make(tmp_path)
    (tmp_path / "good.yaml").write_text(projects.workflow("good", projects.job("one", "SELECT 1 AS a")))
    (tmp_path / "bad.yaml").write_text(projects.workflow("bad", projects.job("one", "SELECT 1", to="nowhere:a/b")))
    return tmp_path


def test_a_project_opens_from_its_directory_its_file_or_a_workflow(root: Path) -> None:
    opened = [catchment.open(place) for place in (root, str(root / "catchment.yaml"), root / "good.yaml")]
    assert {project.root for project in opened} == {root}


def test_files_are_looked_up_from_the_root(root: Path) -> None:
    project = catchment.open(root)
    assert project.validate("good.yaml") == ()
    assert [job.name for job in project.plan("good.yaml").jobs] == ["one"]
    assert project.plan(root / "good.yaml") == project.plan("good.yaml")


def test_problems_are_values_when_validating_and_an_error_when_planning(root: Path) -> None:
    project = catchment.open(root)
    assert [problem.code for problem in project.validate("bad.yaml")] == ["unknown-depot"]
    with pytest.raises(catchment.InvalidFiles) as caught:
        project.plan("bad.yaml")
    assert caught.value.diagnostics == project.validate("bad.yaml")


def test_a_bad_project_file_is_refused_when_opened(tmp_path: Path) -> None:
    (tmp_path / "catchment.yaml").write_text("depotz: {}\n")
    with pytest.raises(catchment.InvalidFiles) as caught:
        catchment.open(tmp_path)
    assert [problem.code for problem in caught.value.diagnostics] == ["unknown-key"]


def test_the_open_project_decides_not_the_one_beside_the_file(
    root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "good.yaml").write_text((root / "good.yaml").read_text())
    (elsewhere / "catchment.yaml").write_text("depots: {}\n")
    assert catchment.open(root).validate(elsewhere / "good.yaml") == ()
    assert {problem.code for problem in catchment.open(elsewhere).validate("good.yaml")} == {"unknown-depot"}


def test_threads_do_not_disturb_each_other(root: Path) -> None:
    project = catchment.open(root)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(project.validate, ["good.yaml", "bad.yaml"] * 20))
    assert found == [project.validate("good.yaml"), project.validate("bad.yaml")] * 20


def test_a_project_without_runs_has_none(root: Path) -> None:
    assert catchment.open(root).runs() == []


def test_a_change_that_cannot_be_made_is_refused_before_anything_starts(tmp_path: Path) -> None:
    (tmp_path / "catchment.yaml").write_text("depots:\n  lake: {kind: iceberg, location: ./lake}\n")
    with pytest.raises(catchment.CatchmentError) as caught:
        catchment.open(tmp_path).change("dataos://lake:raw/trips", "set_version", {"value": "latest"})
    assert caught.value.code == "no-published-catalog"
    assert not (tmp_path / ".catchment").exists()


def test_what_is_asked_of_a_plan(root: Path) -> None:
    text = projects.workflow("two", projects.job("one", "SELECT ${n} AS a"), projects.job("other", "SELECT 2 AS b"))
    (root / "two.yaml").write_text(f"vars: {{n: 1}}\n{text}")
    project = catchment.open(root)
    made = project.plan("two.yaml", select=["one"], vars={"n": 5})
    assert [(job.name, job.steps[0].sql.strip()) for job in made.jobs] == [("one", "SELECT 5 AS a")]
    assert [problem.code for problem in project.validate("two.yaml", vars={"m": 1})] == ["unknown-variable"]
    assert [job.change for job in project.diff("two.yaml").jobs] == ["added", "added"]
    with pytest.raises(catchment.CatchmentError) as caught:
        project.run("two.yaml", backfill=("1", "2"))
    assert caught.value.code == "option-without-effect"


def test_a_project_opens_in_an_environment(root: Path) -> None:
    with (root / "catchment.yaml").open("a") as file:
        file.write("environments: {prod: {}}\n")
    assert catchment.open(root, env="prod").environment == "prod"
    assert catchment.open(root).environment is None


def test_states_are_read_set_and_reset(root: Path) -> None:
    project = catchment.open(root)
    assert project.state() == ()
    project.set_state("good", "one", "trips", {"start": "5"}, new=True)
    assert [(state.job, state.keys) for state in project.state("good")] == [("one", {"start": "5"})]
    (reset,) = project.reset_state("good", "one")
    assert (reset.before, project.state()) == ({"start": "5"}, ())

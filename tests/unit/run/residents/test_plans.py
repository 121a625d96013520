"""What a resident engine is started with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from catchment.engine.protocol import Attach, Residence, Start
from catchment.engine.residence import differences
from catchment.plan import prepare
from catchment.plan.model import EnginePlan
from catchment.project import load
from catchment.project.model import Engine
from catchment.run.residents.plans import may_stay, resident_plan
from tests.cli import projects


def test_a_resident_engine_fits_the_runs_and_questions_of_its_project(tmp_path: Path) -> None:
    projects.make(tmp_path)
    (tmp_path / "w.yaml").write_text(projects.workflow("w", projects.job("one", "SELECT trip_id FROM trips")))
    project, plan = prepare(tmp_path / "w.yaml").require()
    resident = resident_plan(project, project.engines["default"])
    wanted = Attach("t", plan.engines[0], "", project.secrets, {}, "1", "a run")
    start = Start(resident, (), "", "", project.secrets)
    assert differences(start, Residence("", "t", {}, "1", None), wanted) == []


def test_depots_that_nobody_configured_are_named(tmp_path: Path) -> None:
    project = load(tmp_path)
    assert [depot.name for depot in resident_plan(project, project.engines["default"]).depots] == []
    assert [depot.name for depot in resident_plan(project, project.engines["default"], ["lake"]).depots] == ["lake"]


PLAIN = EnginePlan("default", Engine("default", conf={"spark.a": "1"}), {"spark.a": "1"})


@pytest.mark.parametrize(
    ("plan", "stays"),
    [
        (PLAIN, True),
        (replace(PLAIN, conf={"spark.a": "2"}), False),
        (replace(PLAIN, envs={"A": "1"}), False),
        (replace(PLAIN, engine=replace(PLAIN.engine, isolation="process")), False),
    ],
)
def test_only_engines_as_the_project_defines_them_stay(plan: EnginePlan, stays: bool) -> None:
    assert may_stay(plan) is stays

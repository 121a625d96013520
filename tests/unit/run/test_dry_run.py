"""Dry runs: every job is sent to its engine, nothing is recorded, and the answers come in the order of the plan."""

from __future__ import annotations

from catchment.run.dry_run import dry_run
from tests.unit.run.conftest import Lab, job, launch


def test_every_job_is_tried_on_its_engine_and_no_run_is_recorded(lab: Lab) -> None:
    plan = lab.plan(job("a"), job("b", engine="other"), job("c", "", "a"))
    tried = dry_run(plan, lab.project, sample=7, launch=launch)
    assert [(each["name"], each["sample"]) for each in tried] == [("a", 7), ("b", 7), ("c", 7)]
    assert len(lab.trace("start")) == 2
    assert lab.trace("begin") == []
    assert not lab.project.home.exists()

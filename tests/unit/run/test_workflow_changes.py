"""`diff`: a workflow is compared with what was recorded of its runs, without secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from catchment import run
from catchment.errors import RequestError
from catchment.plan import prepare
from catchment.plan.comparison import Change, JobChange
from catchment.run.workflow_changes import WorkflowChanges, changes_since
from catchment.store import open_store
from tests.unit.run.conftest import QUICK, Lab, job, launch
from tests.unit.run.workflow_file import write_workflow


def write(lab: Lab, sql: str) -> Path:
    return write_workflow(lab.root, lab.trace_file, {"a": (sql, []), "b": ("", ["a"])})


def start(file: Path) -> str:
    project, plan = prepare(file).require()
    return run.start(plan, project, launch=launch, timing=QUICK).run_id


def changes(file: Path, run_id: str | None = None) -> WorkflowChanges:
    project, plan = prepare(file).require()
    return changes_since(plan, project, run_id)


def test_a_workflow_that_has_not_run_is_all_new(lab: Lab) -> None:
    found = changes(write(lab, "done"))
    assert (found.run_id, found.jobs) == (None, (JobChange("a", "added"), JobChange("b", "added")))


def test_it_is_compared_with_its_newest_run_or_with_the_one_that_is_named(lab: Lab) -> None:
    first = start(write(lab, "done"))
    second = start(write(lab, "done ;"))
    file = write(lab, "done ; ;")
    (changed,) = changes(file).jobs
    assert changes(file).run_id == second
    assert changed == JobChange("a", "changed", (Change("steps.s", "done ;", "done ; ;"),))
    assert changes(file, first).jobs[0].changes[0].before == "done"
    assert changes(write(lab, "done ;")).jobs == ()


def test_a_resumed_run_is_recorded_as_it_was_resumed(lab: Lab) -> None:
    failed = start(write(lab, "fail job"))
    file = write(lab, "done")
    project, _ = prepare(file).require()
    run.resume(failed, project, launch=launch, timing=QUICK)
    assert changes(file).jobs == ()


def test_what_is_the_same_is_recorded_once_and_without_secrets(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKE_TOKEN", "hunter2hunter2")
    file = write(lab, "done '${secret:LAKE_TOKEN}'")
    for _ in range(2):
        start(file)
    with open_store(lab.project.metastore) as store, store.database.reading() as connection:
        (content,) = connection.exec_driver_sql("SELECT content FROM definitions").scalars()
    assert "hunter2" not in str(content)
    assert changes(file).jobs == ()


def test_a_run_of_which_nothing_was_recorded_cannot_be_compared_with(lab: Lab) -> None:
    old = lab.run(job("a")).run_id
    with pytest.raises(RequestError) as caught:
        changes(write(lab, "done"), old)
    assert caught.value.code == "no-definition"

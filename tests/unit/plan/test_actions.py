"""Actions in a plan: the table of an input becomes something that the job writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from catchment.plan.model import Delete, Expiry
from catchment.plan.preparation import Prepared
from tests.unit.plan.flows import PROJECT, TABLE, J, flow, place, prepare

DELETE = "actions: [{name: delete_from_dataset, input: input, deleteWhere: target.id = 1}]"


def prepared(folder: Path, job: J, *others: J) -> Prepared:
    text = flow(job, *others).replace("          inputs: [", f"          {DELETE}, inputs: [", 1)
    return prepare(folder, text)


def test_an_action_is_a_write_beside_the_outputs(tmp_path: Path) -> None:
    job = J("a", read=TABLE, read_more=", options: {branch: audit}", write="dataos://lakehouse:raw/other?acl=rw")
    found = prepared(tmp_path, job)
    assert found.diagnostics == ()
    assert found.plan
    [plan] = found.plan.jobs
    [action] = plan.actions
    assert isinstance(action.operation, Delete)
    assert action.operation.condition.sql == "target.id = 1"
    assert [(each.name, each.mode) for each in plan.writes] == [("input", "append"), ("delete_from_dataset", "delete")]
    assert action.output.dataset.address == TABLE.partition("?")[0]
    assert action.output.options == {"branch": "audit"}


@pytest.mark.parametrize(
    ("more", "maintain", "expected"),
    [
        ("", "", Expiry()),
        ("", "maintain: {lakehouse: {retention: 7d}}", Expiry(7 * 86400.0)),
        (", {name: expire_snapshots, input: input}", "maintain: {lakehouse: {retention: 7d}}", None),
    ],
)
def test_a_compaction_expires_by_the_rules_of_the_project_unless_the_job_has_its_own(
    tmp_path: Path, more: str, maintain: str, expected: Expiry | None
) -> None:
    job = J("a", read=TABLE, read_more="", write="dataos://lakehouse:raw/other?acl=rw")
    actions = f"actions: [{{name: rewrite_dataset, input: input}}{more}]"
    text = flow(job).replace("          inputs: [", f"          {actions}, inputs: [", 1)
    found = prepare(tmp_path, text, f"{PROJECT}{maintain}\n")
    assert found.plan, found.diagnostics
    assert found.plan.jobs[0].actions[0].expiry == expected


def test_a_table_that_is_appended_to_and_deleted_from_is_shared(tmp_path: Path) -> None:
    first = J("a", read=TABLE, read_more="", write="dataos://lakehouse:raw/other?acl=rw")
    found = prepared(tmp_path, first, J("b"))
    assert found.plan
    [shared] = found.plan.shared
    assert shared.effect == "a deletes rows, b appends: the order of commits decides the result"


@pytest.mark.parametrize(
    ("read", "more", "expected"),
    [
        (TABLE.replace("rw", "r"), "", ("read-only-input", 14, 35)),
        ("dataos://drop:none/trips?acl=rw", ", format: json", ("unsupported-actions", 13, 21)),
        (TABLE.partition("?")[0], "", ("no-acl", 14, 35)),
    ],
)
def test_an_action_changes_tables_that_may_be_written(
    tmp_path: Path, read: str, more: str, expected: tuple[str, int, int]
) -> None:
    job = J("a", read=read, read_more=more, write="dataos://lakehouse:raw/other?acl=rw")
    found = prepared(tmp_path, job)
    assert [place(each) for each in found.diagnostics] == [expected]
    assert (found.plan is None) == (expected[0] != "no-acl")

"""Actions of a job, as they are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from catchment.spec.model import Job
from tests.unit.spec.marked import changed, load_text

JOB = "          job:\n"
OTHER = "              - {name: trips, "


def job_of(folder: Path, actions: str, text: str | None = None) -> tuple[Job, list[str]]:
    given = changed(JOB, f"{JOB}            actions: [{actions}]\n", *([text] if text else []))
    loaded = load_text(folder, given)
    assert loaded.workflow
    assert not [found for found in loaded.diagnostics if found.is_error]
    return loaded.workflow.jobs[0], [found.code for found in loaded.diagnostics]


@pytest.mark.parametrize(
    "action",
    [
        "{name: delete_from_dataset, input: trips, deleteWhere: target.id = 1}",
        "{name: delete_from_dataset, input: Trips, deleteWhere: where target.id = 1;}",
        "{name: delete_from_dataset, deleteWhere: target.id = 1}",
    ],
)
def test_a_deletion_names_its_input_and_its_rows(tmp_path: Path, action: str) -> None:
    job, warnings = job_of(tmp_path, action)
    [found] = job.actions
    assert (found.name, found.kind, found.input) == ("delete_from_dataset", "delete_from_dataset", "trips")
    assert (found.condition.sql.strip(), warnings) == ("target.id = 1", [])


def test_actions_of_one_kind_get_numbers(tmp_path: Path) -> None:
    job, _ = job_of(tmp_path, ", ".join(f"{{name: delete_from_dataset, deleteWhere: id = {n}}}" for n in (1, 2)))
    assert [action.name for action in job.actions] == ["delete_from_dataset", "delete_from_dataset-2"]


def test_a_job_of_actions_alone_needs_no_outputs(tmp_path: Path) -> None:
    outputs = '              - {name: clean, dataset: "dataos://lake:a/b?acl=rw", options: {saveMode: append}}\n'
    text = changed("            outputs:\n" + outputs, "")
    job, warnings = job_of(tmp_path, "{name: delete_from_dataset, deleteWhere: 'true', options: {a: b}}", text)
    assert (len(job.actions), warnings) == (1, ["ignored-key"])

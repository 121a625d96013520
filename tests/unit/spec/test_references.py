"""`${env:…}`, `${secret:…}` and `${file:…}` in workflows."""

from __future__ import annotations

from pathlib import Path

import pytest

from catchment import plan
from catchment.spec.model import Loaded
from tests.unit.plan.flows import PROJECT, J, flow
from tests.unit.spec.marked import changed, load_text

ENV = {"NAME": "plain-1", "DB_TOKEN": "hunter2hunter2"}


def codes(loaded: Loaded) -> list[str]:
    return [each.code for each in loaded.diagnostics]


def sql(loaded: Loaded) -> str:
    assert loaded.workflow
    return loaded.workflow.jobs[0].steps[0].sql


@pytest.mark.parametrize("name", ["${NAME}", "${env:NAME}"])
def test_a_variable_is_plain(name: str, tmp_path: Path) -> None:
    loaded = load_text(tmp_path, changed("select * from trips", f"\"select '{name}' from trips\""), ENV)
    assert (sql(loaded), loaded.secrets, codes(loaded)) == ("select 'plain-1' from trips", (), [])


def test_a_secret_variable_and_a_file_are_secret(tmp_path: Path) -> None:
    (tmp_path / "key.txt").write_text("key-key-key\n")
    text = changed(
        "select * from trips", "\"select '${secret:NAME}', '${file:key.txt}', '$${secret:NAME}' from trips\""
    )
    loaded = load_text(tmp_path, text, ENV)
    assert sql(loaded) == "select 'plain-1', 'key-key-key', '${secret:NAME}' from trips"
    assert [each.value for each in loaded.secrets] == ["plain-1", "key-key-key"]
    assert codes(loaded) == []


def test_references_in_included_files_count_too(tmp_path: Path) -> None:
    (tmp_path / "clean.sql").write_text("select '${secret:DB_TOKEN}' from trips\n")
    loaded = load_text(tmp_path, changed("sql: select * from trips", "sqlFile: clean.sql"), ENV)
    assert [each.value for each in loaded.secrets] == ["hunter2hunter2"]


@pytest.mark.parametrize(
    ("reference", "code"),
    [
        ("${DB_TOKEN}", "plain-secret"),
        ("${env:DB_TOKEN}", "plain-secret"),
        ("${env:NONE}", "unset-variable"),
        ("${secret:NONE}", "unset-variable"),
        ("${secret:}", "bad-reference"),
        ("${file:none.txt}", "file-not-found"),
        ("${file:../none.txt}", "include-outside"),
    ],
)
def test_references_that_are_reported(reference: str, code: str, tmp_path: Path) -> None:
    loaded = load_text(tmp_path, changed("select * from trips", f"\"select '{reference}' from trips\""), ENV)
    assert codes(loaded) == [code]
    assert loaded.diagnostics[0].where
    assert loaded.diagnostics[0].where.file.endswith(".yaml")


def test_a_secret_in_a_name_or_an_address_is_refused(tmp_path: Path) -> None:
    assert codes(load_text(tmp_path, changed("name: one", "name: ${secret:NAME}"), ENV)) == ["secret-in-name"]
    assert codes(load_text(tmp_path, changed("a/b", "a/${secret:NAME}"), ENV)) == ["secret-in-name"]
    assert codes(load_text(tmp_path, changed("a/b", "a/${env:NAME}"), ENV)) == []


def test_the_project_of_a_prepared_workflow_knows_its_secrets(tmp_path: Path) -> None:
    (tmp_path / "catchment.yaml").write_text(PROJECT + "include_paths: ['${secret:DB_TOKEN}']\n")
    file = tmp_path / "flow.yaml"
    file.write_text(flow(J("a", conf="{spark.x: '${secret:NAME}'}")))
    project, _ = plan.prepare(file, env=ENV).require()
    assert project.secrets == ("hunter2hunter2", "plain-1")


def test_diagnostics_do_not_tell_secrets(tmp_path: Path) -> None:
    (tmp_path / "catchment.yaml").write_text("nonsense: 1\n")
    file = tmp_path / "flow.yaml"
    file.write_text(flow(J("a", read_more=", format: json, schemaType: '${secret:DB_TOKEN}'")))
    prepared = plan.prepare(file, env=ENV)
    assert prepared.project is None
    assert "hunter2hunter2" not in repr(prepared.diagnostics)
    assert "hunter2hunter2" in prepared.secrets

"""`environments` and `vars` of the project file."""

from __future__ import annotations

from pathlib import Path

import pytest

from catchment import project
from catchment.errors import InvalidFiles, RequestError
from catchment.project.model import Hook, Project
from tests.unit.spec.marked import MARK, unmarked

TEXT = """\
vars:
  bucket: {type: text, default: dev}
  cores: 2
engines:
  default: {master: "local[${cores}]", conf: {spark.x: base}}
  big: {master: "local[8]"}
depots:
  lake: {kind: iceberg, location: "s3a://${bucket}/lake"}
  drop: {kind: files, location: ./drop}
environments:
  prod:
    metastore: "postgresql://lake:${secret:LAKE_PASSWORD}@db/lake"
    vars: {bucket: prod, cores: 16}
    engines:
      default: {master: yarn}
  test: {}
"""
STORE, SECRET = "sqlite:///a.db", "${secret:LAKE_PASSWORD}"
ENV = {"LAKE_PASSWORD": "hunter2hunter2"}


def load(folder: Path, text: str = TEXT, environment: str | None = None, **variables: str) -> Project:
    (folder / "catchment.yaml").write_text(text)
    return project.load(folder, env=ENV, environment=environment, variables=variables)


def codes(folder: Path, text: str, environment: str | None = "prod", **variables: str) -> list[str]:
    with pytest.raises(InvalidFiles) as caught:
        load(folder, text, environment, **variables)
    return [each.code for each in caught.value.diagnostics if each.is_error]


def test_without_an_environment_what_is_outside_holds(tmp_path: Path) -> None:
    found = load(tmp_path)
    assert (found.environment, found.environments) == (None, ("prod", "test"))
    assert found.depots["lake"].location == "s3a://dev/lake"
    assert (found.engines["default"].master, found.engines["default"].conf) == ("local[2]", {"spark.x": "base"})
    assert found.metastore == f"sqlite:///{tmp_path.resolve()}/.catchment/metastore.db"
    assert found.secrets == ()  # those of production are not even looked for
    assert found.home == tmp_path.resolve() / ".catchment"


def test_an_environment_replaces_entries_as_a_whole(tmp_path: Path) -> None:
    found = load(tmp_path, environment="prod")
    assert found.environment == "prod"
    assert found.depots["lake"].location == "s3a://prod/lake"
    assert (found.engines["default"].master, found.engines["default"].conf) == ("yarn", {})
    assert found.engines["big"].master == "local[8]"
    assert found.metastore == "postgresql://lake:hunter2hunter2@db/lake"
    assert {name: value.text for name, value in found.variables.items()} == {"bucket": "prod", "cores": "16"}
    assert found.secrets == ("hunter2hunter2",)


def test_an_environment_has_a_place_of_its_own(tmp_path: Path) -> None:
    home = tmp_path.resolve() / ".catchment" / "environments" / "test"
    found = load(tmp_path, environment="test")
    assert (found.home, found.metastore) == (home, f"sqlite:///{home}/metastore.db")
    catalog = found.depots["lake"].catalog
    assert catalog
    assert catalog.database == str(home / "depots" / "lake" / "catalog.db")


def test_the_depots_that_an_environment_shares_are_known(tmp_path: Path) -> None:
    assert load(tmp_path, environment="prod").shared_depots == {"drop"}
    assert load(tmp_path).shared_depots == frozenset()


def test_given_values_come_before_those_of_the_environment(tmp_path: Path) -> None:
    assert load(tmp_path, environment="prod", bucket="trial").depots["lake"].location == "s3a://trial/lake"
    assert load(tmp_path, of_a_workflow="x").variables.keys() == {"bucket", "cores"}


def test_an_environment_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(RequestError) as caught:
        load(tmp_path, environment="pord")
    assert (caught.value.code, caught.value.hint) == ("unknown-environment", "did you mean `prod`?")
    (tmp_path / "catchment.yaml").unlink()
    with pytest.raises(RequestError) as caught:
        project.load(tmp_path, environment="prod")
    assert caught.value.code == "unknown-environment"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (f"environments: {{prod: {{{MARK}depot: {{}}}}}}", "unknown-key"),
        (f"environments: {{{MARK}a/b: {{}}, prod: {{}}}}", "bad-environment-name"),
        (f"environments: {{prod: {{vars: {{{MARK}x: 1}}}}}}", "unknown-variable"),
        (f"vars: {{x: 1}}\nenvironments: {{prod: {{vars: {{x: {MARK}many}}}}}}", "bad-variable-value"),
        (
            f"vars: {{x: 1}}\nenvironments: {{prod: {{vars: {{{MARK}x: '${{secret:LAKE_PASSWORD}}'}}}}}}",
            "secret-in-variable",
        ),
        (f"environments: {{prod: {{depots: {{a: {{kind: {MARK}nonsense, location: .}}}}}}}}", "bad-value"),
        (
            f"environments: {{{MARK}prod: {{metastore: 'sqlite:///a.db'}}}}\nmetastore: sqlite:///a.db",
            "metastore-shared",
        ),
        (f"environments: {{{MARK}prod: {{}}}}\nmetastore: sqlite:///a.db", "metastore-shared"),
        (f"vars: {{{MARK}x: }}\nenvironments: {{prod: {{}}}}", "variable-not-set"),
        (f"environments: {{prod: {MARK}5}}", "wrong-type"),
    ],
)
def test_what_is_wrong_with_an_environment(text: str, code: str, tmp_path: Path) -> None:
    text, line, column = unmarked(text)
    (tmp_path / "catchment.yaml").write_text(text)
    with pytest.raises(InvalidFiles) as caught:
        project.load(tmp_path, env=ENV, environment="prod")
    (found,) = caught.value.diagnostics
    assert found.where
    assert (found.code, found.where.line, found.where.column) == (code, line, column)


def test_a_name_that_nobody_declares_is_no_reference_in_the_project_file(tmp_path: Path) -> None:
    assert codes(tmp_path, "depots: {a: {kind: files, location: './${where}'}}", None) == ["bad-reference"]


def test_other_environments_are_not_used(tmp_path: Path) -> None:
    text = "environments: {prod: {depots: {a: {kind: files, location: '${env:NOT_SET}'}}}, test: {}}"
    assert load(tmp_path, text, "test").environment == "test"
    assert codes(tmp_path, text) == ["unset-variable"]


HOOKS = """\
notify:
  oncall: {webhook: "${secret:LAKE_PASSWORD}", on: [run-failed, run-late], late_after: 30m}
  mail: {command: [./mail.sh, team]}
environments:
  prod: {notify: {mail: {command: [./page.sh]}}}
"""
URL = {"LAKE_PASSWORD": "https://hooks.example.org/T0K3N"}


def test_hooks_are_told_of_failures_unless_they_say_otherwise(tmp_path: Path) -> None:
    (tmp_path / "catchment.yaml").write_text(HOOKS)
    oncall, mail = project.load(tmp_path, env=URL).notify
    assert oncall == Hook("oncall", URL["LAKE_PASSWORD"], (), ("run-failed", "run-late"), 1800.0)
    assert mail == Hook("mail", None, ("./mail.sh", "team"), ("run-failed", "service-dead"))
    assert [hook.command for hook in project.load(tmp_path, env=URL, environment="prod").notify] == [(), ("./page.sh",)]


def test_the_address_of_a_webhook_is_a_secret_however_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "catchment.yaml").write_text("notify: {a: {webhook: 'https://hooks.example.org/T0K3N'}}")
    found = project.load(tmp_path)
    assert found.secrets == ("https://hooks.example.org/T0K3N",)
    assert [each.code for each in found.warnings] == ["plain-secret"]


@pytest.mark.parametrize(
    ("hook", "code"),
    [
        ("{}", "bad-hook"),
        ("{webhook: 'https://a/b', command: [x]}", "bad-hook"),
        ("{webhook: 'file:///etc/passwd'}", "bad-hook"),
        ("{command: [x], on: [run-late]}", "bad-hook"),
        ("{command: [x], late_after: 5m}", "bad-hook"),
        ("{command: []}", "bad-value"),
        ("{command: [x], on: [run-slow]}", "bad-value"),
    ],
)
def test_hooks_that_cannot_be_told(hook: str, code: str, tmp_path: Path) -> None:
    assert code in codes(tmp_path, f"notify: {{a: {hook}}}", None)
    assert codes(tmp_path, "notify: {a/b: {command: [x]}}", None) == ["bad-hook-name"]

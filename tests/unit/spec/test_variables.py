"""`vars` of workflows: what is declared, which value each variable has, and where `${NAME}` is filled in."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from catchment.spec import load
from catchment.spec.grammar.variables import VariableType
from catchment.spec.model import Loaded
from catchment.spec.variable_value import Value
from catchment.spec.variables import canonical
from tests.unit.spec.marked import GOOD, MARK, changed, unmarked

SQL = "select * from trips"


def load_text(folder: Path, text: str, project: dict[str, Value] | None = None, **given: str) -> Loaded:
    file = folder / "workflow.yaml"
    file.write_text(text)
    env = {"REGION": "from the environment", "TOKEN": "hunter2hunter2"}
    return load(file, env=env, variables=project, given=given)


def declaring(declared: str, sql: str = "select '${REGION}' from trips") -> str:
    """A workflow with a `vars` section and a step."""
    return changed(SQL, f'"{sql}"', f"vars: {declared}\n{GOOD}")


def sql(loaded: Loaded) -> str:
    assert loaded.workflow
    return loaded.workflow.jobs[0].steps[0].sql


def codes(loaded: Loaded) -> list[str]:
    return [each.code for each in loaded.diagnostics]


def test_a_variable_has_the_given_value_or_else_its_default(tmp_path: Path) -> None:
    text = declaring("{REGION: north}")
    assert sql(load_text(tmp_path, text)) == "select 'north' from trips"
    given = load_text(tmp_path, text, REGION="south")
    assert (sql(given), given.variables, codes(given)) == ("select 'south' from trips", {"REGION": "south"}, [])


def test_a_name_that_is_not_declared_is_one_of_the_environment(tmp_path: Path) -> None:
    assert sql(load_text(tmp_path, declaring("{}"))) == "select 'from the environment' from trips"
    explicit = declaring("{REGION: north}", "select '${env:REGION}' from trips")
    assert sql(load_text(tmp_path, explicit)) == "select 'from the environment' from trips"


def test_what_means_something_else_is_left_alone(tmp_path: Path) -> None:
    text = declaring("{start: x, spark: y}", "select '$start', '$|start|', '${spark.conf}', '$${start}' from trips")
    assert sql(load_text(tmp_path, text)) == "select '$start', '$|start|', '${spark.conf}', '${start}' from trips"


@pytest.mark.parametrize(
    ("declared", "given", "value"),
    [
        ("{type: integer}", " 007 ", "7"),
        ("3", "4", "4"),
        ("{type: number}", "1.50", "1.50"),
        ("true", "FALSE", "false"),
        ("{type: date}", "2024-02-29", "2024-02-29"),
        ("{type: timestamp}", "2024-02-29T12:00:00Z", "2024-02-29T12:00:00Z"),
        ("{type: text}", " as it is ", " as it is "),
        ("north", "7", "7"),
    ],
)
def test_values_fit_the_type(declared: str, given: str, value: str, tmp_path: Path) -> None:
    loaded = load_text(tmp_path, declaring(f"{{v: {declared}}}", "select '${v}' from trips"), v=given)
    assert (sql(loaded), codes(loaded)) == (f"select '{value}' from trips", [])


@pytest.mark.parametrize(
    ("declared", "given"),
    [("integer", "1.5"), ("number", "nan"), ("boolean", "yes"), ("date", "2023-02-29"), ("timestamp", "soon")],
)
def test_values_that_do_not_fit(declared: str, given: str, tmp_path: Path) -> None:
    text = declaring(f"{{v: {{type: {declared}}}}}", "select '${v}' from trips")
    assert codes(load_text(tmp_path, text, v=given)) == ["bad-variable-value"]
    assert codes(load_text(tmp_path, text)) == ["variable-not-set"]


@pytest.mark.parametrize(
    ("declared", "code"),
    [
        (f"{{{MARK}a-b: 1}}", "bad-variable-name"),
        (f"{{a: {{type: {MARK}money}}}}", "bad-value"),
        (f"{{a: {{{MARK}kind: text, default: x}}}}", "unknown-key"),
        (f"{{a: {{type: integer, default: {MARK}many}}}}", "bad-variable-value"),
        (f"{{a: {{default: {MARK}[1]}}}}", "wrong-type"),
        (f"{{{MARK}a: '${{secret:TOKEN}}'}}", "secret-in-variable"),
        (f"{MARK}[a, b]", "wrong-type"),
    ],
)
def test_declarations_that_are_wrong(declared: str, code: str, tmp_path: Path) -> None:
    text, line, column = unmarked(f"vars: {declared}\n{GOOD}")
    (found,) = load_text(tmp_path, text).diagnostics
    assert found.where
    assert (found.code, found.where.line, found.where.column) == (code, line, column)


def test_a_name_that_looks_like_a_secret_is_warned_about(tmp_path: Path) -> None:
    (found,) = load_text(tmp_path, declaring("{DB_PASSWORD: x, REGION: y}")).diagnostics
    assert (found.code, found.is_error) == ("plain-secret", False)


def test_a_wrong_value_is_reported_once(tmp_path: Path) -> None:
    text = declaring("{n: {type: integer}}", "select ${n} + ${n} from trips")
    assert codes(load_text(tmp_path, text, n="many")) == ["bad-variable-value"]


def test_a_variable_whose_declaration_is_wrong_is_not_looked_for_elsewhere(tmp_path: Path) -> None:
    text = declaring("{n: {type: integer, default: x}, s: '${secret:TOKEN}'}", "select '${n}${s}' from trips")
    assert codes(load_text(tmp_path, text)) == ["bad-variable-value", "secret-in-variable"]


def test_a_field_that_wants_a_number_or_a_boolean_gets_one(tmp_path: Path) -> None:
    retries = changed("    - name: one\n", "    - name: one\n      retry: {count: '${n}'}\n", f"vars: {{n: 2}}\n{GOOD}")
    workflow = load_text(tmp_path, retries, n="3").workflow
    assert workflow
    assert workflow.jobs[0].retry.count == 3


def test_included_files_share_the_variables_of_the_files_that_include_them(tmp_path: Path) -> None:
    (tmp_path / "inner.yaml").write_text(
        declaring("{REGION: inner, more: '1'}", "select '${REGION}${more}' from trips")
    )
    outer = "name: outer\nversion: v1\ntype: workflow\nvars: {REGION: outer}\n"
    outer += "workflow: {dag: [{name: all, file: inner.yaml}]}\n"
    loaded = load_text(tmp_path, outer, more="2")
    assert (sql(loaded), codes(loaded)) == ("select 'outer2' from trips", [])
    assert loaded.variables == {"REGION": "outer", "more": "2"}


def test_variables_of_the_project_are_known_and_not_declared_again(tmp_path: Path) -> None:
    project = {"REGION": Value("east", "east")}
    assert sql(load_text(tmp_path, declaring("{}"), project)) == "select 'east' from trips"
    assert codes(load_text(tmp_path, declaring("{REGION: north}"), project)) == ["duplicate-variable"]


@pytest.mark.parametrize("kind", get_args(VariableType))
def test_every_type_has_a_canonical_form(kind: VariableType) -> None:
    values = {"text": "x", "integer": "1", "number": "1", "boolean": "true", "date": "2024-01-01"}
    assert canonical(values.get(kind, "2024-01-01T00:00:00Z"), kind)

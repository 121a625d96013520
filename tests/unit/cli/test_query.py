from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner, Result

from catchment.cli import query_output
from catchment.cli.program import program
from catchment.errors import RequestError
from catchment.project.model import Project
from catchment.run.query_result import QueryResult

TYPES = ('"string"', '{"type": "array", "elementType": "string", "containsNull": true}', '"integer"')
ROWS = QueryResult(("name", "tags", "n"), TYPES, ('["a,b", ["x", "y"], 1]', "[null, [], 20]"), truncated=True)


def test_csv_quotes_what_needs_it(capsys: pytest.CaptureFixture[str]) -> None:
    query_output.echo(ROWS, "csv")
    assert capsys.readouterr().out == 'name,tags,n\n"a,b","[""x"", ""y""]",1\n,[],20\n'


def test_a_table_has_a_line_per_row(capsys: pytest.CaptureFixture[str]) -> None:
    query_output.echo(ROWS, "table")
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in (lines[0], *lines[2:])] == [
        ["name", "tags", "n"],
        ["a,b", '["x",', '"y"]', "1"],
        ["[]", "20"],
    ]


@pytest.mark.parametrize("texts", [ROWS.texts, ()])
def test_json_has_the_documented_shape(capsys: pytest.CaptureFixture[str], texts: tuple[str, ...]) -> None:
    query_output.echo(QueryResult(ROWS.columns, TYPES, texts, truncated=False), "json")
    rows = [json.loads(text) for text in texts]
    assert json.loads(capsys.readouterr().out) == {"columns": [*ROWS.columns], "truncated": False, "rows": rows}


def test_markdown_escapes_what_would_end_a_cell(capsys: pytest.CaptureFixture[str]) -> None:
    rows = QueryResult(("a|b", "c"), TYPES[:2], ('["x|y\\n\\\\z", null]',), truncated=False)
    query_output.echo(rows, "markdown")
    assert capsys.readouterr().out.splitlines() == ["| a\\|b | c |", "| --- | --- |", "| x\\|y<br>\\\\z |  |"]


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_a_statement_without_a_result_prints_nothing(capsys: pytest.CaptureFixture[str], form: str) -> None:
    query_output.echo(QueryResult((), (), (), truncated=False), form)
    assert capsys.readouterr().out == ""


def test_arrow_keeps_the_types(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    types = ('"long"', '"date"', '"decimal(5,2)"', '{"type": "array", "elementType": "timestamp"}')
    row = '[1, "2024-02-29", "1.50", ["2024-02-29T12:00:00Z"]]'
    query_output.echo(QueryResult(("n", "day", "price", "at"), types, (row,), truncated=False), "arrow")
    table = pa.ipc.open_stream(capfdbinary.readouterr().out).read_all()
    assert [str(field.type) for field in table.schema] == [
        *("int64", "date32[day]", "decimal128(5, 2)", "list<item: timestamp[us, tz=UTC]>"),
    ]
    assert table.to_pylist()[0]["day"] == date(2024, 2, 29)


def asked(*arguments: str, text: str | bytes = "", project: Path) -> Result:
    return CliRunner().invoke(program, ["query", "--project", str(project), *arguments], input=text)


@pytest.fixture
def lake(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a scripted lake was asked."""
    seen: list[str] = []

    def answer(_: Project, sql: str, *__: Any, **more: Any) -> QueryResult:
        seen.append(sql)
        return ROWS

    def watch(project: Project, sql: str, every: float, **more: Any) -> Iterator[QueryResult]:
        yield from (answer(project, sql) for _ in range(2))

    monkeypatch.setattr("catchment.run.lake.query", answer)
    monkeypatch.setattr("catchment.run.lake.watch", watch)
    return seen


def test_the_statement_may_come_from_standard_input(lake: list[str], tmp_path: Path) -> None:
    assert asked("-f", "-", text="SELECT\r\n1", project=tmp_path).exit_code == 0
    assert asked("-f", "-", "--write", text="DROP TABLE x", project=tmp_path).exit_code == 2
    assert "error[not-utf-8]" in asked("-f", "-", text=b"SELECT '\xff'", project=tmp_path).output
    assert lake == ["SELECT\n1"]


def test_a_watched_query_is_a_line_of_json_each_time(lake: list[str], tmp_path: Path) -> None:
    watched = asked("SELECT 1", "--watch", "0.1", "-o", "json", project=tmp_path)
    assert [len(json.loads(line)["rows"]) for line in watched.stdout.splitlines()] == [2, 2]
    for wrong in (("-o", "csv"), ("-o", "arrow"), ("--write", "--yes")):
        assert asked("SELECT 1", "--watch", "1", *wrong, project=tmp_path).exit_code == 2
    assert lake == ["SELECT 1"] * 2


def test_arrow_is_not_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    with pytest.raises(RequestError) as caught:
        query_output.check("arrow")
    assert caught.value.code == "binary-on-terminal"
    assert (query_output.row_limit(None), query_output.row_limit(0), query_output.row_limit(7)) == (1000, None, 7)

import json

import pytest

from catchment.cli import query
from catchment.run.query_result import QueryResult

TYPES = ('"string"', '{"type": "array", "elementType": "string", "containsNull": true}', '"integer"')
ROWS = QueryResult(("name", "tags", "n"), TYPES, ('["a,b", ["x", "y"], 1]', "[null, [], 20]"), truncated=True)


def test_csv_quotes_what_needs_it(capsys: pytest.CaptureFixture[str]) -> None:
    query._echo(ROWS, "csv")
    assert capsys.readouterr().out == 'name,tags,n\n"a,b","[""x"", ""y""]",1\n,[],20\n'


def test_a_table_has_a_line_per_row(capsys: pytest.CaptureFixture[str]) -> None:
    query._echo(ROWS, "table")
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in (lines[0], *lines[2:])] == [
        ["name", "tags", "n"],
        ["a,b", '["x",', '"y"]', "1"],
        ["[]", "20"],
    ]


@pytest.mark.parametrize("texts", [ROWS.texts, ()])
def test_json_has_the_documented_shape(capsys: pytest.CaptureFixture[str], texts: tuple[str, ...]) -> None:
    query._echo(QueryResult(ROWS.columns, TYPES, texts, truncated=False), "json")
    rows = [json.loads(text) for text in texts]
    assert json.loads(capsys.readouterr().out) == {"columns": [*ROWS.columns], "truncated": False, "rows": rows}

import pytest

from catchment.cli import query
from catchment.engine.protocol import Rows

ROWS = Rows("q", ("name", "tags", "n"), (("a,b", ["x", "y"], 1), (None, [], 20)))


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

import pytest

from catchment.cli import printing


def test_numbers_stand_right_and_names_left(capsys: pytest.CaptureFixture[str]) -> None:
    printing.echo_table(("job", "rows"), [("a", 5), ("bcd", 12345), ("e", None)])
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines[0].split() == ["job", "rows"]
    assert lines[2].endswith("    5")
    assert lines[3] == "bcd   12345"
    assert lines[4] == "e"


def test_a_pipe_gets_one_line_per_row_however_wide(capsys: pytest.CaptureFixture[str]) -> None:
    wide = "x" * 5000
    printing.echo_table(("value",), [(wide,)])
    assert wide in capsys.readouterr().out


def test_wide_letters_and_several_lines_stand_in_their_columns(capsys: pytest.CaptureFixture[str]) -> None:
    printing.echo_table(("größe", "text"), [("漢", "a\nb"), ("e\u0301x", "🙂\r\a"), (None, "c\td")])
    assert capsys.readouterr().out.splitlines() == [
        "größe   text     ",
        "─────────────────",
        "漢      a        ",
        "        b        ",
        "e\u0301x      🙂       ",
        "        c       d",
    ]


def test_what_looks_like_markup_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    printing.echo_table(("[bold]",), [("[red]text[/red]",)])
    out = capsys.readouterr().out
    assert "[bold]" in out
    assert "[red]text[/red]" in out


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (True, "true"), (1.5, "1.5"), ([1, "a"], '[1, "a"]'), ({"k": None}, '{"k": null}'), ("é", "é")],
)
def test_cells_read_as_a_person_reads_them(value: object, text: str) -> None:
    assert printing.cell_text(value) == text

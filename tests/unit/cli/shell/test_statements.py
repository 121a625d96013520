from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catchment.cli.shell.statements import is_complete, split


@pytest.mark.parametrize(
    ("text", "done", "rest"),
    [
        ("SELECT 1;", ["SELECT 1"], ""),
        ("SELECT 1", [], "SELECT 1"),
        ("SELECT 1; SELECT\n2 ;", ["SELECT 1", "SELECT\n2"], ""),
        (";; ;", [], ""),
        ("SELECT ';' ; x", ["SELECT ';'"], " x"),
        (r"SELECT 'it\'s;' ;", [r"SELECT 'it\'s;'"], ""),
        (r"SELECT r'\' ;", [r"SELECT r'\'"], ""),
        ("SELECT `a;``b`;", ["SELECT `a;``b`"], ""),
        ("-- not yet;\nSELECT 1;", ["-- not yet;\nSELECT 1"], ""),
        ("SELECT 1; -- done;", ["SELECT 1"], ""),
        ("SELECT /* ; */ 1;", ["SELECT /* ; */ 1"], ""),
        ("SELECT 'open;", [], "SELECT 'open;"),
        ("SELECT 1; /* open ;", ["SELECT 1"], " /* open ;"),
        ("", [], ""),
    ],
)
def test_statements_end_at_semicolons_that_are_code(text: str, done: list[str], rest: str) -> None:
    assert split(text) == (done, rest)
    assert is_complete(text) == (rest == "")


@given(st.text("ab;'\"`\\-/* \nr", max_size=30))
def test_nothing_of_a_text_is_lost(text: str) -> None:
    done, rest = split(text)
    kept = [letter for part in (*done, rest) for letter in part if letter.isalpha()]
    if "--" not in text and "/*" not in text:
        assert "".join(kept) == "".join(letter for letter in text if letter.isalpha())
    assert split(f"{text};\n'" if not rest else text)[0] == done

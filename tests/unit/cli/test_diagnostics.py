from pathlib import Path

import pytest

from catchment.cli import error_report
from catchment.errors import Diagnostic, Position, Severity


def finding(file: str, line: int, column: int) -> Diagnostic:
    return Diagnostic("unknown-key", "unknown key 'outputz'", Position(file, line, column), "did you mean 'outputs'?")


def test_a_diagnostic_shows_the_offending_line_and_a_caret(tmp_path: Path) -> None:
    file = tmp_path / "taxi.yaml"
    file.write_text("name: taxi\n  outputz: []\n")
    assert error_report.diagnostics_text([finding(str(file), 2, 3)]).splitlines() == [
        f"{file}:2:3: \x1b[31m\x1b[1merror[unknown-key]\x1b[0m: unknown key 'outputz'",
        "  2 |   outputz: []",
        "    |   \x1b[32m\x1b[1m^\x1b[0m",
        "  \x1b[36mhint:\x1b[0m did you mean 'outputs'?",
    ]


def test_the_caret_stands_below_the_place_behind_tabs(tmp_path: Path) -> None:
    file = tmp_path / "tabs.yaml"
    file.write_text("\tname: x\n")
    line, caret = error_report.diagnostics_text([finding(str(file), 1, 2)]).splitlines()[1:3]
    assert line == "  1 | \tname: x"
    assert caret.startswith("    | \t\x1b")


def test_a_place_that_is_gone_costs_the_snippet_only(tmp_path: Path) -> None:
    file = tmp_path / "short.yaml"
    file.write_text("one line\n")
    for place in (finding(str(file), 9, 1), finding(str(tmp_path / "missing.yaml"), 1, 1)):
        assert "unknown key" in error_report.diagnostics_text([place])
        assert " | " not in error_report.diagnostics_text([place])


def test_diagnostics_as_data_have_the_documented_fields() -> None:
    warning = Diagnostic("no-acl", "no acl", None, None, Severity.WARNING)
    first, second = error_report.diagnostics_data([finding("a.yaml", 2, 3), warning])["diagnostics"]
    assert first == {
        "file": "a.yaml",
        "line": 2,
        "column": 3,
        "severity": "error",
        "code": "unknown-key",
        "message": "unknown key 'outputz'",
        "hint": "did you mean 'outputs'?",
    }
    assert (second["file"], second["line"], second["column"], second["severity"]) == (None, None, None, "warning")


def test_of_a_very_long_line_only_the_place_is_shown(tmp_path: Path) -> None:
    file = tmp_path / "long.yaml"
    file.write_text("x" * 1_000_000 + "HERE" + "y" * 1_000_000)
    place = Position(str(file), 1, 1_000_001)
    head, line, caret = error_report.diagnostics_text([Diagnostic("bad", "z" * 2_000_000, place)]).splitlines()
    assert len(head) < 3000
    assert len(line) < 300
    assert line.index("HERE") == caret.index("\x1b")
    assert (line[6], line[-1]) == ("…", "…")


def test_a_line_with_many_problems_is_searched_for_passwords_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[str] = []

    def search(line: str) -> str:
        searched.append(line)
        return line

    monkeypatch.setattr("catchment.project.secrets.source_line", search)
    file = tmp_path / "many.yaml"
    file.write_text("dependencies: [many names]\n")
    error_report.diagnostics_text([finding(str(file), 1, column) for column in range(1, 20)])
    assert searched == ["dependencies: [many names]"]


def test_the_end_of_a_long_line_can_be_shown(tmp_path: Path) -> None:
    file = tmp_path / "long.yaml"
    file.write_text("x" * 1000 + "HERE")
    _, line, caret, _ = error_report.diagnostics_text([finding(str(file), 1, 1001)]).splitlines()
    assert line.endswith("HERE")
    assert line.index("HERE") == caret.index("\x1b")

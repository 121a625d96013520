"""On a real terminal, results that do not fit on the screen go to the pager; the others do not."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pexpect
import pytest

SHOW = """
from catchment.cli.shell.results import show
from catchment.run.query_result import QueryResult

rows = ('["{text}"]',) * {rows}
show(QueryResult(("said",), ('"string"',), rows, truncated=False), expanded={expanded})
"""
PAGER = """#!/bin/sh
cat > paged
echo "$LESS" > options
"""


def shown(directory: Path, rows: int, text: str = "x", *, expanded: bool = False) -> str:
    """What is on a screen of 20 lines of 40 characters; the pager prints nothing and keeps what it was given."""
    pager = directory / "pager"
    pager.write_text(PAGER)
    pager.chmod(0o755)
    inherited = {name: value for name, value in os.environ.items() if name not in ("LESS", "LINES", "COLUMNS")}
    env = {**inherited, "PAGER": str(pager), "TERM": "xterm"}
    script = SHOW.format(rows=rows, text=text, expanded=expanded)
    child = pexpect.spawn(
        *(sys.executable, ["-c", script]),
        cwd=str(directory),
        env=env,
        encoding="utf-8",
        timeout=60,
        dimensions=(20, 40),
    )
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0, child.before
    return str(child.before)


@pytest.mark.parametrize("expanded", [False, True])
def test_more_rows_than_lines(expanded: bool, tmp_path: Path) -> None:
    screen = shown(tmp_path, 30, expanded=expanded)
    assert (tmp_path / "paged").read_text().count("x") == 30
    assert (tmp_path / "options").read_text() == "RSFX\n"
    assert "x" not in screen
    assert "30 rows" in screen


def test_a_row_that_is_wider_than_the_screen(tmp_path: Path) -> None:
    shown(tmp_path, 1, "x" * 60, expanded=True)
    assert "x" * 60 in (tmp_path / "paged").read_text()


def test_what_fits_is_printed(tmp_path: Path) -> None:
    assert shown(tmp_path, 3).count("x") == 3
    assert not (tmp_path / "paged").exists()

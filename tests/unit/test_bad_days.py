"""docs/reference/bad-days.md: every code and every test that it names exists, and each case has a test."""

from __future__ import annotations

import re
from pathlib import Path

from tests.unit.test_error_codes import documented

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "reference" / "bad-days.md"
NOT_CODES = {"remove-orphans"}
HEADS = ("| case |", "|---|")


def cases() -> list[list[str]]:
    """The cells of each case."""
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("|") and not line.startswith(HEADS)]
    return [re.split(r" (?<!\\)\| ", row.strip("| ")) for row in rows]


def test_every_case_has_four_cells_and_a_test_that_exists() -> None:
    for case in cases():
        assert len(case) == 4, case
        file, name = case[3].strip("`").split("::")
        assert f"\ndef {name}(" in (ROOT / "tests" / file).read_text(), case[3]


def test_every_code_exists() -> None:
    named = {code for case in cases() for code in re.findall(r"`([a-z]+(?:-[a-z]+)+)`", " ".join(case[:3]))}
    assert sorted(named - set(documented()) - NOT_CODES) == []
    assert len(named) > 30

"""Docs that point somewhere point to something, and every verb and option is explained."""

import re
from pathlib import Path

import click
import pytest

from catchment.cli.program import VERBS, program

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_and_its_options_are_explained(verb: str) -> None:
    text = (ROOT / "docs" / "reference" / "cli.md").read_text()
    command = program.get_command(click.Context(program), verb)
    assert command
    assert f"**`{verb}" in text
    options = {name for param in command.params for name in param.opts if name.startswith("--")}
    assert [name for name in sorted(options) if f"`{name}" not in text and f" {name}" not in text] == []

"""The files and commands of the docs fit the project that `catchment init` makes."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from catchment import plan
from tests.cli.pages import ROOT, blocks, files

TEMPLATE = ROOT / "src" / "catchment" / "cli" / "template"
PAGES = ["README.md", *(str(page.relative_to(ROOT)) for page in sorted(ROOT.glob("docs/**/*.md")))]
PROJECT = "catchment.yaml"
EXAMPLES = {
    f"{page}: {name}": (text, files(page).get(PROJECT))
    for page in PAGES
    for name, text in files(page).items()
    if name != PROJECT
}
SHOWN = [str(file.relative_to(ROOT)) for file in sorted(ROOT.glob("examples/*/*.yaml")) if file.name != PROJECT]


def test_there_are_examples() -> None:
    assert "docs/how-to/merge.md: accounts.yaml" in EXAMPLES
    assert "examples/many-engines/many-engines.yaml" in SHOWN


@pytest.mark.parametrize(("text", "project"), EXAMPLES.values(), ids=EXAMPLES.keys())
def test_an_example_can_be_planned_without_a_warning(tmp_path: Path, text: str, project: str | None) -> None:
    shutil.copytree(TEMPLATE, tmp_path, dirs_exist_ok=True)
    if project:
        (tmp_path / PROJECT).write_text(project)
    for made in ("changes.json", "sales.csv"):  # by a command of its page
        (tmp_path / "data" / made).touch()
    (tmp_path / "flow.yaml").write_text(text)
    prepared = plan.prepare(tmp_path / "flow.yaml", env={})
    assert prepared.diagnostics == ()
    assert prepared.plan


@pytest.mark.parametrize("file", SHOWN, ids=SHOWN)
def test_a_workflow_of_the_examples_can_be_planned_without_a_warning(tmp_path: Path, file: str) -> None:
    shutil.copytree((ROOT / file).parent, tmp_path, dirs_exist_ok=True)
    prepared = plan.prepare(tmp_path / Path(file).name, env={})
    assert prepared.diagnostics == ()
    assert prepared.plan


@pytest.mark.parametrize("page", PAGES)
def test_every_workflow_and_command_is_one_that_the_tests_run(page: str) -> None:
    """A workflow has its file name in its first line, and commands are in blocks of `sh` or behind `$`."""
    for block in blocks(page):
        assert block.file or not re.match(r"(#.*\n)*name: ", block.text), block.text
        if block.language != "sh":
            assert not re.search(r"^catchment ", block.text, re.MULTILINE), block.text

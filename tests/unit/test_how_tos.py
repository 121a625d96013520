"""The workflows in the how-tos are workflows: they can be planned as they stand there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from catchment import plan

HOW_TOS = Path(__file__).parent.parent.parent / "docs" / "how-to"
PROJECT = """\
depots:
  dropzone: {kind: files, location: ./dropzone}
  lakehouse: {kind: iceberg, location: ./lake, publish: lakehouse_published}
"""
EXAMPLES = {
    f"{page.stem}-{number}": text
    for page in sorted(HOW_TOS.glob("*.md"))
    for number, text in enumerate(re.findall(r"^```yaml\n(name: .*?)^```", page.read_text(), re.DOTALL | re.MULTILINE))
}


def test_there_are_examples() -> None:
    assert "merge-0" in EXAMPLES


@pytest.mark.parametrize("text", EXAMPLES.values(), ids=EXAMPLES.keys())
def test_an_example_can_be_planned_without_a_warning(tmp_path: Path, text: str) -> None:
    (tmp_path / "catchment.yaml").write_text(PROJECT)
    (tmp_path / "flow.yaml").write_text(text)
    prepared = plan.prepare(tmp_path / "flow.yaml", env={})
    assert prepared.diagnostics == ()
    assert prepared.plan

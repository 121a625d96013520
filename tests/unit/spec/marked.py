"""Workflow texts in which `§` marks the place where something must be found."""

from __future__ import annotations

from pathlib import Path

from catchment.spec import load
from catchment.spec.model import Loaded

MARK = "§"
HEAD = """\
name: taxi
version: v1
type: workflow
workflow:
  dag:
"""
JOB = """\
    - name: one
      spec:
        stack: flare:7.0
        stackSpec:
          job:
            inputs:
              - {name: trips, dataset: "dataos://raw:none/trips?acl=r", format: json}
            steps:
              - sequence:
                  - {name: clean, sql: select * from trips}
            outputs:
              - {name: clean, dataset: "dataos://lake:a/b?acl=rw", options: {saveMode: append}}
"""
GOOD = HEAD + JOB


def unmarked(text: str) -> tuple[str, int, int]:
    """The text without its mark, and the mark's line and column."""
    before, mark, after = text.partition(MARK)
    assert mark, "the text has no mark"
    return before + after, before.count("\n") + 1, len(before) - before.rfind("\n")


def load_text(folder: Path, text: str, env: dict[str, str] | None = None) -> Loaded:
    """Write a workflow file and load it."""
    file = folder / "workflow.yaml"
    file.write_text(text, encoding="utf-8")
    return load(file, env=env or {})


def changed(old: str, new: str, text: str = GOOD) -> str:
    """A text with one piece replaced."""
    assert text.count(old) == 1, f"{old!r} occurs {text.count(old)} times"
    return text.replace(old, new)

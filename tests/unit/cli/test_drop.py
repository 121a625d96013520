"""`table drop` shows what goes and asks; it drops what it has shown, and only if somebody agrees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from catchment.cli import interaction
from catchment.cli.program import program
from catchment.plan.model import Dataset
from catchment.run import tables
from tests.cli import projects

ORDERS = "dataos://lakehouse:shop/orders"
FACTS = {"address": ORDERS, "table_id": "7", "location": "/lake/shop/orders", "rows": 5, "files": 2, "snapshots": 1}


class FakeLake:
    """An engine that is asked to drop one table."""

    asked: list[tuple[str | None, bool]]

    def __init__(self, *_: Any, **__: Any) -> None:
        self.asked.clear()

    def __enter__(self) -> FakeLake:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing was started."""

    def drop(
        self, table: Dataset, published: str | None, *, expected: str | None = None, dry_run: bool
    ) -> Mapping[str, Any]:
        self.asked.append((expected, dry_run))
        return {**FACTS, "published": False, "dropped": not dry_run, "dry_run": dry_run}


@pytest.fixture
def drop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """The verb, at a terminal where somebody types."""
    projects.make(tmp_path, projects.SETTINGS)
    monkeypatch.setattr(FakeLake, "asked", [], raising=False)
    monkeypatch.setattr(tables, "LakeSession", FakeLake)
    monkeypatch.setattr(interaction, "require_somebody", lambda: None)
    return lambda typed, *more: CliRunner().invoke(
        program, ["table", "drop", ORDERS, "--project", str(tmp_path), *more], input=typed
    )


def test_no_keeps_the_table(drop: Callable[..., Result]) -> None:
    answer = drop("n\n")
    assert FakeLake.asked == [(None, True)]
    assert (answer.exit_code, answer.stdout) == (2, "")
    assert f"would drop {ORDERS} at /lake/shop/orders: 5 rows, 2 files, 1 snapshots\nDrop it? [y/N]" in answer.stderr
    assert "error[not-confirmed]" in answer.stderr


def test_yes_drops_the_table_that_was_shown_and_no_other(drop: Callable[..., Result]) -> None:
    answer = drop("y\n")
    assert FakeLake.asked == [(None, True), ("7", False)]
    assert (answer.exit_code, answer.stdout.split(":")[0]) == (0, "dropped dataos")


@pytest.mark.parametrize(("option", "dry_run"), [("--yes", False), ("--dry-run", True)])
def test_nobody_is_asked(drop: Callable[..., Result], option: str, dry_run: bool) -> None:
    assert drop("", option).exit_code == 0
    assert FakeLake.asked == [(None, dry_run)]

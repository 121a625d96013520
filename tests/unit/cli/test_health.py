"""The verdict on a table and the command that it calls for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from catchment.cli.program import program
from catchment.project.model import Upkeep
from catchment.run.compaction import health
from catchment.run.compaction.needs import Need
from catchment.run.compaction.tidying import tidying_of
from catchment.table_health import TableHealth, table_health
from tests.unit.run.compaction.lakes import SMALL, TABLE, TARGET, part

COMPACT = f"catchment compact {TABLE.address}"
NEED = Need(part("a", 6), ("6 small files (the limit is 5)",))


def told(
    monkeypatch: pytest.MonkeyPatch, place: Path, found: TableHealth, needs: tuple[Need, ...], *format: str
) -> str:
    answer = found, needs, tidying_of(TABLE, found, Upkeep())
    monkeypatch.setattr(health, "health", lambda *_, **__: answer)
    done = CliRunner().invoke(program, ["table", "health", TABLE.address, "--project", str(place), *format])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.parametrize(
    ("more", "needs", "verdict", "command"),
    [
        ({"manifests": 99}, (), "healthy", None),
        ({"manifests": 99}, (NEED,), "1 of 1 partitions need compaction", COMPACT),
        ({"manifests": 500}, (), "500 manifests need merging", COMPACT),
        ({"manifests": 500}, (NEED,), "1 of 1 partitions need compaction; 500 manifests need merging", COMPACT),
        ({"write_only": True}, (), "healthy", None),
    ],
)
def test_the_verdict_is_about_everything_that_a_compaction_merges(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    more: dict[str, Any],
    needs: tuple[Need, ...],
    verdict: str,
    command: str | None,
) -> None:
    found = table_health(TABLE.address, "1", (TARGET, SMALL), [part("a", 6)], **more)
    facts = json.loads(told(monkeypatch, tmp_path, found, needs, "-o", "json"))
    assert (facts["verdict"], facts["command"]) == (verdict, command)
    assert (facts["merges_manifests"], facts["expires_snapshots"]) == (found.manifests == 500, found.write_only)


def test_whether_a_compaction_expires_snapshots_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = table_health(TABLE.address, "1", (TARGET, SMALL), [part("a", 6)], snapshots=40, write_only=True)
    assert "verdict: healthy\na compaction expires old snapshots" in told(monkeypatch, tmp_path, found, ())

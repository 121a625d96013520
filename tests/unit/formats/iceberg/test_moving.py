"""A consolidation shows that it moves: after every attempt, and between the snapshots that it prepares."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from catchment.errors import LeaseLost
from catchment.formats.iceberg import consolidate as module
from catchment.formats.iceberg.consolidate import Consolidation, consolidate
from catchment.store.writes import Entry
from tests.ledgers import contents, intent

NOBODY: Any = None


def test_before_every_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    """A catalog that refuses one swap after the other may take minutes."""
    steps, checks = iter([False, False, True]), list[str]()
    monkeypatch.setattr(Consolidation, "step", lambda _: next(steps))
    consolidate(NOBODY, [], NOBODY, lambda: checks.append("check"))
    assert len(checks) == 3


def test_between_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each overwrite reads the store for a snapshot of its own; and who has lost its lease prepares no more of them."""
    done, discarded = list[str](), list[object]()
    writes = [Entry(intent(f"r/j/{n}", mode="overwrite"), "sealed", False, contents(), None, None, n) for n in range(3)]

    def check() -> None:
        done.append("check")
        if len(done) > 4:
            raise LeaseLost("another engine has it")

    monkeypatch.setattr(module, "Fit", lambda _: SimpleNamespace(refusal=lambda _: None))
    monkeypatch.setattr(module, "_stage", lambda *_: done.append("snapshot"))
    monkeypatch.setattr(module, "_discard", lambda _, transaction: discarded.append(transaction))
    table: Any = SimpleNamespace(session=NOBODY, transaction=lambda: "transaction")
    with pytest.raises(LeaseLost):
        module._staged(table, writes, "metastore", check)
    assert done == ["check", "snapshot", "check", "snapshot", "check"]
    assert discarded == ["transaction"]

"""A compaction of a workflow that is done stays done, whatever becomes of the expiry after it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from catchment.errors import CatchmentError, EngineLost, JobError, LeaseLost, StorageUnavailable
from catchment.formats.model import MaintenanceResult, Write
from catchment.maintain import actions
from catchment.plan.model import ActionPlan, Dataset, Expire, Expiry, OutputPlan, Rewrite
from tests.spark.lake import HERE

TABLE = Dataset("dataos://lake:raw/t", "lake", "iceberg", "raw", "t")


def write_only(*_: object) -> Any:
    """A table whose writers leave expiry to compactions."""
    return SimpleNamespace(write_only=True)


def compaction_with(
    error: CatchmentError | None, monkeypatch: pytest.MonkeyPatch, table: Callable[..., Any] = write_only
) -> tuple[list[str], Any]:
    """What is told of a compaction whose expiry fails with an error, and what it wrote."""
    told: list[str] = []

    def perform(_: object, operation: object, *__: object) -> MaintenanceResult:
        if isinstance(operation, Expire) and error is not None:
            raise error
        return MaintenanceResult(3)

    monkeypatch.setattr(actions, "_perform_once", perform)
    monkeypatch.setattr(actions, "_only_compactor", lambda *_: nullcontext())
    monkeypatch.setattr(actions, "_table", table)
    output = OutputPlan("out", "rows", TABLE, HERE, mode="maintain")
    action = ActionPlan(Rewrite(), output, expiry=Expiry(0.0))
    write = Write(output, "workflow", "job", "run")
    nothing: Any = SimpleNamespace(warn=told.append)
    return told, actions.act(nothing, action, write, nothing, nothing)


def test_an_expiry_that_fails_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    told, written = compaction_with(JobError("no permission", code="no-permission", hint=""), monkeypatch)
    assert written.files == 3
    assert told == ["dataos://lake:raw/t: snapshots are not expired: no permission"]


def test_a_table_that_cannot_be_looked_at_afterwards_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: object) -> None:
        raise StorageUnavailable("no catalog", hint="")

    told, written = compaction_with(None, monkeypatch, unreachable)
    assert written.files == 3
    assert told == ["dataos://lake:raw/t: snapshots are not expired: no catalog"]


@pytest.mark.parametrize("error", [EngineLost("gone"), LeaseLost("taken")])
def test_a_compaction_that_may_not_go_on_ends(error: CatchmentError, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(type(error)):
        compaction_with(error, monkeypatch)

"""A compaction of a workflow that is done stays done, whatever becomes of the expiry after it."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from catchment.errors import CatchmentError, EngineLost, JobError, LeaseLost
from catchment.formats.model import MaintenanceResult, Write
from catchment.maintain import actions
from catchment.plan.model import ActionPlan, Dataset, Expire, Expiry, OutputPlan, Rewrite
from tests.spark.lake import HERE

TABLE = Dataset("dataos://lake:raw/t", "lake", "iceberg", "raw", "t")


def compaction_with(error: CatchmentError, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], Any]:
    """What is told of a compaction whose expiry fails with an error, and what it wrote."""
    told: list[str] = []

    def perform(_: object, operation: object, *__: object) -> MaintenanceResult:
        if isinstance(operation, Expire):
            raise error
        return MaintenanceResult(3)

    monkeypatch.setattr(actions, "_perform_once", perform)
    monkeypatch.setattr(actions, "_only_compactor", lambda *_: nullcontext())
    monkeypatch.setattr(actions, "_table", lambda *_: SimpleNamespace(write_only=True))
    output = OutputPlan("out", "rows", TABLE, HERE, mode="maintain")
    action = ActionPlan(Rewrite(), output, expiry=Expiry(0.0))
    write = Write(output, "workflow", "job", "run")
    nothing: Any = SimpleNamespace(warn=told.append)
    return told, actions.act(nothing, action, write, nothing, nothing)


def test_an_expiry_that_fails_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    told, written = compaction_with(JobError("no permission", code="no-permission", hint=""), monkeypatch)
    assert written.files == 3
    assert told == ["dataos://lake:raw/t: snapshots are not expired: no permission"]


@pytest.mark.parametrize("error", [EngineLost("gone"), LeaseLost("taken")])
def test_a_compaction_that_may_not_go_on_ends(error: CatchmentError, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(type(error)):
        compaction_with(error, monkeypatch)

"""Two engines create one table at the same moment."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from catchment.formats.delta import writing
from tests.unit.formats.raised import FromJava, Raised

NOT_FOUND = FromJava(Raised("the table doesn't exist", "org.apache.spark.sql.delta.DeltaAnalysisException"))
WRITE: Any = SimpleNamespace(output=SimpleNamespace(dataset="dataset"))
FRAME: Any = None


def _create(*_: object) -> None:
    raise NOT_FOUND


@pytest.mark.parametrize(("known", "named"), [(True, []), (False, ["dataset"])])
def test_a_table_that_another_engine_has_just_created_is_used(
    known: bool, named: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[object] = []
    monkeypatch.setattr(writing, "create", _create)
    monkeypatch.setattr(writing, "is_known", lambda *_: known)
    monkeypatch.setattr(writing, "give_name", lambda _, dataset: given.append(dataset))
    log: Any = SimpleNamespace(spark=None, head=lambda: "head")
    writing._make(log, FRAME, WRITE)
    assert given == named


def test_a_table_that_cannot_be_created_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "create", _create)
    log: Any = SimpleNamespace(spark=None, head=lambda: None)
    with pytest.raises(FromJava):
        writing._make(log, FRAME, WRITE)

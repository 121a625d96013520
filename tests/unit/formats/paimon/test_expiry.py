"""Which snapshots an expiry leaves alone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from catchment.formats.paimon import maintenance
from catchment.formats.paimon.maintenance import MaintainedTable
from catchment.maintain.retention import Retention
from catchment.plan.model import Dataset
from tests.ledgers import TARGET, Filled

RENAMED = Dataset("dataos://lake:raw/t", "lake", "paimon", "raw", "t")


@pytest.mark.parametrize(("table_uuid", "first"), [("uuid", 2), ("another", None)])
def test_what_a_sealed_write_needs_stays_under_another_name_of_its_depot(
    filled: Filled, monkeypatch: pytest.MonkeyPatch, table_uuid: str, first: int | None
) -> None:
    table = SimpleNamespace(id="uuid", first_of_consumers=lambda: None)
    monkeypatch.setattr(maintenance, "require_table", lambda *_: table)
    filled.seal("r/j/sealed", target="dataos://pond:raw/t", table_uuid=table_uuid)
    nothing: Any = None
    needs = Retention(filled.store, TARGET)
    maintained = MaintainedTable(nothing, RENAMED, nothing, needs, nothing)
    assert maintained._first_needed([])["writes"] == first

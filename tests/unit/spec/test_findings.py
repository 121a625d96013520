"""Problems are reported in one order, whichever of them was found first."""

from __future__ import annotations

import pytest

from catchment.errors import Position
from catchment.spec.findings import Findings


@pytest.mark.parametrize("found", [("type", "workflow"), ("workflow", "type")])
def test_problems_at_one_position_have_one_order(found: tuple[str, str]) -> None:
    findings = Findings()
    for key in found:
        findings.error("missing-field", f"`{key}` is missing", Position("a.yaml", 1, 1))
    assert [each.message for each in findings.in_order("a.yaml")] == ["`type` is missing", "`workflow` is missing"]

"""Files of Delta tables are merged along a z-order."""

from __future__ import annotations

import pytest

from catchment.plan.model import Dataset, Rewrite
from tests.spark.lake import LiveEngine, maintaining, writing


@pytest.mark.slow
def test_files_are_merged_along_a_z_order(here: LiveEngine, target: Dataset) -> None:
    for number in range(3):
        sql = f"SELECT {number}L AS a, {9 - number}L AS b"
        here.run(writing(sql, target, name=f"w{number}", mode="append"))
    here.run(maintaining(target, Rewrite("sort", "zorder(a, b)")))
    newest = here.inspect("snapshots", target)["snapshots"][-1]
    assert newest["operation"] == "optimize"
    assert len(here.inspect("files", target)["files"]) == 1
    assert sorted(here.rows(f"SELECT a, b FROM {target.identifier}")) == [(0, 9), (1, 8), (2, 7)]
    assert here.fail(maintaining(target, Rewrite("sort", "a DESC"))).code == "unsupported-option"

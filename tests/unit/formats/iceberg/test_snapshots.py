"""Which writes a snapshot holds, as its summary tells."""

from __future__ import annotations

import pytest

from catchment.formats.iceberg.snapshots import Snapshot


@pytest.mark.parametrize(
    ("summary", "writes"),
    [
        ({}, ()),
        ({"catchment.write-ids": "a/b/c", "added-records": "7"}, (("a/b/c", 7),)),
        ({"catchment.write-ids": "a/b/c", "catchment.write-rows": "5", "added-records": "7"}, (("a/b/c", 5),)),
        ({"catchment.write-ids": "a/b/c,d/e/f", "catchment.write-rows": "5,0"}, (("a/b/c", 5), ("d/e/f", 0))),
        ({"catchment.write-ids": "a/b/c,d/e/f", "added-records": "7"}, (("a/b/c", None), ("d/e/f", None))),
        ({"catchment.write-ids": "a/b/c,d/e/f", "catchment.write-rows": "5"}, (("a/b/c", None), ("d/e/f", None))),
    ],
)
def test_each_write_has_its_rows_where_the_summary_tells(
    summary: dict[str, str], writes: tuple[tuple[str, int | None], ...]
) -> None:
    assert Snapshot(1, "2026-03-01T12:00:00.000+00:00", summary).writes == writes

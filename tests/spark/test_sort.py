"""Sorted outputs are sorted in the files."""

from __future__ import annotations

from itertools import groupby, pairwise
from typing import Any

import pytest

from catchment.plan.model import PartitionField, Sort
from catchment.spec.model import SortColumn
from tests.spark.lake import LiveEngine, by, table, writing

ROWS = (
    "SELECT /*+ REPARTITION(4) */ pmod(hash(id), 1000) AS key, id, timestampadd(DAY, id % 3, TIMESTAMP '2020-01-01') "
    "AS ts FROM range(400)"
)


def rows_by_file(engine: LiveEngine, name: str) -> dict[str, list[Any]]:
    """Sort keys in the order in which they stand in each file."""
    found = engine.rows(f"SELECT _file, _pos, key FROM lake.raw.{name} ORDER BY _file, _pos")
    return {file: [row[2] for row in rows] for file, rows in groupby(found, key=lambda row: row[0])}


@pytest.mark.parametrize(
    ("mode", "partitions", "descending"),
    [
        ("global", (), False),
        ("partition", (), True),
        ("global", (by("day", "ts"),), True),
        ("partition", (by("bucket", "id", 3),), False),
        ("partition", (by("truncate", "id", 200),), False),
    ],
)
def test_files_are_in_order(
    engine: LiveEngine, fresh: str, mode: Any, partitions: tuple[PartitionField, ...], descending: bool
) -> None:
    sort = Sort(mode, (SortColumn("key", descending=descending),))
    [report] = engine.run(writing(ROWS, table(fresh), partitions=partitions, sort=sort))
    files = rows_by_file(engine, fresh)
    assert report.rows == sum(map(len, files.values())) == 400
    assert all(keys == sorted(keys, reverse=descending) for keys in files.values())
    if mode == "global" and not partitions:
        ranges = sorted((min(keys), max(keys)) for keys in files.values())
        assert all(one[1] <= other[0] for one, other in pairwise(ranges))


def test_sorting_by_a_column_that_is_not_there(engine: LiveEngine, fresh: str) -> None:
    sort = Sort("global", (SortColumn("nothing"),))
    assert engine.fail(writing(ROWS, table(fresh), sort=sort)).code == "column-not-found"

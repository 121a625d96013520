"""Whether a write asks for one file at a time, and what to do about columns that cannot be partitioned by."""

from __future__ import annotations

import pytest
from pyspark.sql.types import DataType, DateType, LongType, StringType, TimestampType

from catchment.formats.iceberg.partitions import ORDERING_OPTION, hint_for, without_fanout

ONE, AUTO = {"fanout-enabled": "false"}, {"fanout-enabled": "auto"}
AS_THEY_COME = {ORDERING_OPTION: "false"}


@pytest.mark.parametrize(
    ("options", "properties", "clustered", "added"),
    [
        ({}, {}, False, AUTO),
        ({"compression-codec": "zstd"}, {"comment": "x"}, False, AUTO),
        ({"fanout-enabled": "true"}, {}, False, {}),
        ({"FanOut-Enabled": "true"}, {}, True, {}),
        ({}, {"write.spark.fanout.enabled": "true"}, False, {}),
        ({}, {"write.spark.fanout.enabled": "false"}, False, {}),
        (AS_THEY_COME, {}, True, ONE),
        (AS_THEY_COME, {}, False, {}),
        ({ORDERING_OPTION: "true"}, {}, False, AUTO),
        ({"Output-Spec-Id": "1"}, {}, True, {}),
    ],
)
def test_one_file_at_a_time_unless_told_otherwise(
    options: dict[str, str], properties: dict[str, str], clustered: bool, added: dict[str, str]
) -> None:
    assert without_fanout(options, properties, clustered=clustered, sortable=True) == {**options, **added}
    assert without_fanout(options, properties, clustered=clustered, sortable=False) == options


@pytest.mark.parametrize(
    ("transform", "kind", "hint"),
    [
        ("month", StringType(), "at is a string: convert it in the last step, for example with to_date(at)"),
        ("hour", LongType(), "at is a bigint: convert it in the last step, for example with to_timestamp(at)"),
        ("hour", DateType(), "at is a date, which has no hours: partition by day of it, or by hour of a timestamp"),
        (
            *("month", TimestampType()),
            "choose another transform or column; the name of a partition must differ from every column",
        ),
    ],
)
def test_the_hint_fits_the_column(transform: str, kind: DataType, hint: str) -> None:
    assert hint_for(transform, "at", kind) == hint

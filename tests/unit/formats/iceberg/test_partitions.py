"""Whether a write asks for one file at a time."""

from __future__ import annotations

import pytest

from catchment.formats.iceberg.partitions import ORDERING_OPTION, without_fanout

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

from __future__ import annotations

import pytest

from catchment.errors import Position, RequestError
from catchment.formats.partition_values import PartitionColumn, literal, partition_condition
from catchment.plan.model import Dataset, Partition

TABLE = Dataset("dataos://lake:raw/t", "lake", "iceberg", "raw", "t")
DAY, REGION = PartitionColumn("day", "date"), PartitionColumn("region", "string")


def test_partitions_become_a_condition() -> None:
    wanted = [Partition({"region": "o'eu", "day": "2026-03-01"}), Partition({"day": None, "region": "us"})]
    assert partition_condition(TABLE, [DAY, REGION], wanted) == (
        "(`day` = DATE '2026-03-01' AND `region` = 'o\\'eu') OR (`day` IS NULL AND `region` = 'us')"
    )


def test_the_source_of_a_transform_is_asked() -> None:
    hour = PartitionColumn("ts_hour", "hour of timestamp", lambda value: f"hours({value})", "`ts`")
    assert partition_condition(TABLE, [hour], [Partition({"ts_hour": "5"})]) == "(hours(5))"
    assert partition_condition(TABLE, [hour], [Partition({"ts_hour": None})]) == "(`ts` IS NULL)"


@pytest.mark.parametrize(
    ("columns", "values", "code"),
    [
        ([], {"day": "2026-03-01"}, "not-partitioned"),
        ([DAY], {"dya": "2026-03-01"}, "unknown-partition-column"),
        ([DAY, REGION], {"day": "2026-03-01"}, "partition-incomplete"),
        ([DAY], {"day": "March"}, "partition-value-invalid"),
        ([PartitionColumn("part", "int")], {"part": "3000000000"}, "partition-value-invalid"),
        ([PartitionColumn("part", "binary")], {"part": "x"}, "partition-value-invalid"),
    ],
)
def test_partitions_that_cannot_be(columns: list[PartitionColumn], values: dict[str, str | None], code: str) -> None:
    where = Position("workflow.yaml", 3, 7)
    with pytest.raises(RequestError) as refused:
        partition_condition(TABLE, columns, [Partition(values, where)])
    assert (refused.value.code, refused.value.where) == (code, where)
    assert refused.value.hint


@pytest.mark.parametrize(
    ("text", "kind", "sql"),
    [
        ("7", "bigint", "7"),
        ("TRUE", "boolean", "true"),
        ("1.50", "decimal(4,2)", "CAST('1.50' AS decimal(4,2))"),
        ("0.5", "double", "CAST('0.5' AS double)"),
        ("a\\b", "varchar(3)", "'a\\\\b'"),
        ("2026-03-01T05:00:00Z", "timestamp", "TIMESTAMP '2026-03-01 05:00:00+00:00'"),
        ("2026-03-01 05:00:00", "timestamp_ntz", "TIMESTAMP_NTZ '2026-03-01 05:00:00'"),
        ("2026-03-01", "timestamp", "TIMESTAMP '2026-03-01 00:00:00'"),
        ("+10000-01-01T05:00:00.5+02:00", "timestamp", "TIMESTAMP '10000-01-01 05:00:00.500000+02:00'"),
        ("10000-01-01", "date", "DATE '10000-01-01'"),
    ],
)
def test_literals(text: str, kind: str, sql: str) -> None:
    assert literal(text, kind) == sql


@pytest.mark.parametrize(
    ("text", "kind"),
    [("x", "int"), ("yes", "boolean"), ("x", "decimal(4,2)"), ("x", "double"), ("5", "timestamp"), ("20513", "date")],
)
def test_what_is_no_value_of_a_type(text: str, kind: str) -> None:
    with pytest.raises(ValueError, match=text):
        literal(text, kind)

"""Partitions of Iceberg tables are compacted by the names that their health has, also those of sentinels."""

from __future__ import annotations

import pytest

from catchment.plan.model import Partition, Rewrite
from tests.spark.lake import LiveEngine, table

pytestmark = pytest.mark.slow

COLUMNS = {
    "day DATE": "day",
    "of_day DATE": "days(of_day)",
    "of_month DATE": "months(of_month)",
    "of_year DATE": "years(of_year)",
    "at TIMESTAMP": "at",
    "of_hour TIMESTAMP": "hours(of_hour)",
    "local TIMESTAMP_NTZ": "local",
    "of_local TIMESTAMP_NTZ": "hours(of_local)",
    "raw BINARY": "raw",
    "of_raw BINARY": "truncate(2, of_raw)",
    "`dotted.name` DATE": "`dotted.name`",
    "nested STRUCT<day: DATE, at: TIMESTAMP>": "nested.day, days(nested.at)",
}
"""Each column with the partition fields that are made of it."""
MOMENTS = {
    "2026-03-01": ("23:30:00.5", "00ff", "AP8="),
    "9999-12-31": ("23:59:59", "", ""),
    "10000-01-01": ("00:00:00", "00", "AA=="),
    "0001-01-01": ("00:00:00", "27", "Jw=="),
}
"""Each day with a time, a binary value and its text: the first and the last moment that people write, and one later."""


def row(day: str) -> str:
    """The row of a day as SQL."""
    time, raw, _ = MOMENTS[day]
    date, at, local, binary = (
        f"DATE '{day}'",
        f"TIMESTAMP '{day} {time}Z'",
        f"TIMESTAMP_NTZ '{day} {time}'",
        f"X'{raw}'",
    )
    nested = f"named_struct('day', {date}, 'at', {at})"
    return f"({', '.join([*[date] * 4, *[at] * 2, *[local] * 2, *[binary] * 2, date, nested])})"


def partition(day: str) -> dict[str, str | None]:
    """The partition of a day."""
    time, _, raw = MOMENTS[day]
    hour, moment = f"{day}-{time[:2]}", f"{day}T{time.replace('.5', '.500000')}"
    of_day = {"day": day, "of_day_day": day, "of_month_month": day[:-3], "of_year_year": day[:-6]}
    of_time = {"at": f"{moment}+00:00", "of_hour_hour": hour, "local": moment, "of_local_hour": hour}
    more = {"dotted.name": day, "nested.day": day, "nested.at_day": day}
    return {**of_day, **of_time, "raw": raw, "of_raw_trunc": raw, **more}


def test_sentinels_of_every_transform_are_compacted(engine: LiveEngine, fresh: str) -> None:
    engine.ask("CREATE NAMESPACE IF NOT EXISTS lake.raw")
    columns, fields = ", ".join(COLUMNS), ", ".join(COLUMNS.values())
    engine.ask(f"CREATE TABLE lake.raw.{fresh} ({columns}) USING iceberg PARTITIONED BY ({fields})")
    nulls = f"({', '.join('null' for _ in COLUMNS)})"
    for _ in range(2):
        engine.ask(f"INSERT INTO lake.raw.{fresh} VALUES {', '.join(map(row, MOMENTS))}, {nulls}")

    found = [dict(each.partition or {}) for each in engine.health(table(fresh)).partitions]
    assert sorted(found, key=str) == sorted([*map(partition, MOMENTS), dict.fromkeys(partition("2026-03-01"))], key=str)
    for each in found:
        one = Rewrite(properties={"min-input-files": "2"}, partitions=(Partition(each),))
        assert engine.maintain(table(fresh), one)["rewritten_files"] == 2, each
    assert {each.files for each in engine.health(table(fresh)).partitions} == {1}
    assert engine.value(f"SELECT count(*) FROM lake.raw.{fresh}") == 2 * len(found)

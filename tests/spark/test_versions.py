"""A second line of Spark on the same lake, and a Spark that is already on the machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from catchment.engine.packages import install
from tests.spark.lake import UNPREPARED, LiveEngine, by, engine_plan, files, lake_depot, table, writing

pytestmark = pytest.mark.slow


def test_spark_3_5_and_4_1_write_the_same_table(start_java: Callable[..., LiveEngine], tmp_path: Path) -> None:
    depot = lake_depot(tmp_path)
    home = install(engine_plan(spark="3.5", conf=UNPREPARED), print).spark_home
    told: list[str] = []
    assert install(engine_plan(spark="3.5", conf=UNPREPARED), told.append).spark_home == home
    assert told == []  # nothing is brought a second time
    engines = {
        # The directory of the package pyspark is a Spark like any other.
        "3.5": start_java(depot, spark="3.5", key="3.5", spark_home=home, conf=UNPREPARED),
        "4.1": start_java(depot, key="4.1", conf=UNPREPARED),
    }
    for spark, engine in engines.items():
        assert engine.ready(600).spark_version.startswith(f"{spark}.")
    spec = (by("month", "ts", name="month"), by("identity", "part"))
    sent = [
        engine.start_job(
            writing(
                f"SELECT '{spark}' AS spark, id, TIMESTAMP '2026-03-01' AS ts, {n} AS n, DOUBLE('NaN') AS part "
                "FROM range(20)",
                table("t"),
                name=f"j{n}",
                mode="append",
                partitions=spec,
            )
        )
        for n in range(3)
        for spark, engine in engines.items()
    ]
    for pending in sent:
        assert pending.done()[0].rows == 20
    for engine in engines.values():
        found = engine.rows(
            "SELECT spark, count(*), count(DISTINCT n, id) FROM lake.raw.t GROUP BY spark ORDER BY spark"
        )
        assert found == [("3.5", 60, 60), ("4.1", 60, 60)]
        snapshots = engine.inspect("snapshots", table("t"))["snapshots"]
        assert sum(len(snapshot["write_ids"]) for snapshot in snapshots) == 6
    old = engines["3.5"]
    assert old.fail(writing("SELECT nothing FROM range(3)", table("u"))).code == "column-not-found"
    assert old.fail(writing("SELECT 1 FORM x", table("u"))).code == "sql-syntax"
    old.run(writing("SELECT 'x' AS more", table("t"), mode="append", merge_schema=True))
    old.run(writing("SELECT id FROM range(9)", files(tmp_path / "d", "avro")))

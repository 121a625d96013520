"""Appending to Iceberg tables."""

from __future__ import annotations

from tests.spark.lake import LiveEngine, table, writing


def test_a_table_is_created_and_appended_to(engine: LiveEngine, fresh: str) -> None:
    sql = "SELECT id, CAST(id AS STRING) AS text FROM range(10)"
    [report] = engine.run(writing(sql, table(fresh), mode="append"), run="r1")
    assert (report.rows, report.name, report.write_id) == (10, "out", "r1/job/out")
    assert report.files is not None
    assert report.files >= 1
    engine.run(writing(sql, table(fresh), mode="append"))
    assert engine.value(f"SELECT count(*) FROM lake.raw.{fresh}") == 20

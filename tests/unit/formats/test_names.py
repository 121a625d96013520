"""Delta tables in queries: found by name, handed to Spark by path or by the name in its catalog."""

from __future__ import annotations

import pytest

from catchment.formats.delta.names import found_by_spark
from catchment.project.model import Catalog, Depot

DEPOTS = (
    Depot("events", "delta", "/lake/events/"),
    Depot("far", "delta", "s3a://bucket/far"),
    Depot("lake", "iceberg", "/lake/ice", Catalog()),
    Depot("shop", "delta", "/lake/shop", Catalog("hive", "thrift://metastore:9083")),
)
CLICKS = "delta.`/lake/events/raw/clicks`"


@pytest.mark.parametrize(
    ("sql", "handed_over"),
    [
        ("SELECT clicks.id FROM events.raw.clicks", f"SELECT clicks.id FROM {CLICKS} AS `clicks`"),
        ("SELECT c.id FROM events.raw.clicks c", f"SELECT c.id FROM {CLICKS} c"),
        ("SELECT 1 FROM `events`.raw.`clicks` VERSION AS OF 3", f"SELECT 1 FROM {CLICKS} VERSION AS OF 3"),
        (
            "SELECT * FROM lake.raw.a\nJOIN far.b.t ON a.x = t.x JOIN events.raw.clicks USING (x)",
            "SELECT * FROM lake.raw.a\n"
            f"JOIN delta.`s3a://bucket/far/b/t` AS `t` ON a.x = t.x JOIN {CLICKS} AS `clicks` USING (x)",
        ),
        ("SELECT orders.id FROM shop.eu.orders", "SELECT orders.id FROM spark_catalog.eu.orders"),
        ("DESCRIBE HISTORY events.raw.clicks", f"DESCRIBE HISTORY {CLICKS}"),
        ("DELETE FROM events.raw.clicks WHERE id = 1", f"DELETE FROM {CLICKS} WHERE id = 1"),
    ],
)
def test_tables_of_delta_depots_are_named_as_spark_finds_them(sql: str, handed_over: str) -> None:
    assert found_by_spark(sql, DEPOTS).sql == handed_over


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT events.raw.clicks FROM lake.raw.events",
        "SELECT 'events.raw.clicks' FROM lake.raw.t -- events.raw.clicks",
        "SELECT * FROM events",
        "SELECT * FRM events.raw.clicks WHERE",
        "SELECT 1",
    ],
)
def test_everything_else_stays_as_it_is(sql: str) -> None:
    assert found_by_spark(sql, DEPOTS).sql == sql


@pytest.mark.parametrize("word", ["SELECT", "events", "x", "far", "WHERE", "nothing"])
def test_what_spark_blames_is_found_in_what_was_written(word: str) -> None:
    sql = "SELECT *\nFROM events.raw.clicks JOIN far.b.t USING (x) WHERE nothing"
    edited = found_by_spark(sql, DEPOTS)
    blamed = {"events": CLICKS, "far": "delta.`s3a"}.get(word, word)
    assert edited.origin(edited.sql.index(blamed)) == sql.index(word)

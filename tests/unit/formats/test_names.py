"""Tables in queries: those of Delta are handed to Spark by path or name, published ones by another catalog's."""

from __future__ import annotations

import pytest

from catchment.errors import RequestError
from catchment.formats.iceberg.published_names import published_tables, query_published
from catchment.formats.sql import rewrite_for_spark
from catchment.project.model import Catalog, Depot

DEPOTS = (
    Depot("events", "delta", "/lake/events/"),
    Depot("far", "delta", "s3a://bucket/far"),
    Depot("lake", "iceberg", "/lake/ice", Catalog()),
    Depot("shop", "delta", "/lake/shop", Catalog("hive", "thrift://metastore:9083")),
)
SHOWN = (Depot("lake", "iceberg", "/lake", Catalog(), publish="shown"), *DEPOTS[:2])
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
    assert rewrite_for_spark(sql, DEPOTS).sql == handed_over


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
    assert rewrite_for_spark(sql, DEPOTS).sql == sql


@pytest.mark.parametrize("word", ["SELECT", "events", "x", "far", "WHERE", "nothing"])
def test_what_spark_blames_is_found_in_what_was_written(word: str) -> None:
    sql = "SELECT *\nFROM events.raw.clicks JOIN far.b.t USING (x) WHERE nothing"
    edited = rewrite_for_spark(sql, DEPOTS)
    blamed = {"events": CLICKS, "far": "delta.`s3a"}.get(word, word)
    assert edited.origin(edited.sql.index(blamed)) == sql.index(word)


@pytest.mark.parametrize(
    ("sql", "handed_over"),
    [
        ("SELECT id FROM lake.raw.t", "SELECT id FROM `shown`.raw.t"),
        ("SELECT lake.raw.t.id FROM `lake`.raw.t x", "SELECT `shown`.raw.t.id FROM `shown`.raw.t x"),
        ("SELECT * FROM lake.raw.t.snapshots", "SELECT * FROM `shown`.raw.t.snapshots"),
        ("SELECT 'lake.raw.t' FROM other.raw.lake", "SELECT 'lake.raw.t' FROM other.raw.lake"),
    ],
)
def test_tables_are_looked_up_in_the_published_catalog(sql: str, handed_over: str) -> None:
    assert query_published(sql, SHOWN) == handed_over


def test_a_depot_without_a_published_catalog_is_named() -> None:
    with pytest.raises(RequestError) as caught:
        query_published("SELECT 1 FROM lake.raw.t JOIN events.raw.clicks", SHOWN)
    assert (caught.value.code, "events" in caught.value.message) == ("no-published-catalog", True)


def test_what_a_query_names_of_published_catalogs() -> None:
    assert published_tables("SELECT 1 FROM shown.raw.t.files JOIN lake.raw.u", SHOWN) == (("shown", "raw", "t"),)

"""Partition specs of new and existing tables."""

from __future__ import annotations

import pytest

from catchment.plan.model import PartitionField
from tests.spark.lake import LiveEngine, by, table, writing

ROWS = "SELECT id, CAST(id AS STRING) AS text, TIMESTAMP '2020-02-03 04:05:06' AS ts FROM range(6)"


def test_every_transform_with_and_without_a_name(engine: LiveEngine, fresh: str) -> None:
    spec = (
        by("identity", "id"),
        by("year", "ts", name="y"),
        by("bucket", "id", 4, name="b"),
        by("truncate", "text", 2),
    )
    engine.run(writing(ROWS, table(fresh), partitions=spec))
    found = engine.inspect("table", table(fresh))["partitions"]
    assert [(entry["transform"], entry["column"], entry["name"]) for entry in found] == [
        ("identity", "id", "id"),
        ("year", "ts", "y"),
        ("bucket[4]", "id", "b"),
        ("truncate[2]", "text", "text_trunc"),
    ]
    assert engine.value(f"SELECT count(*) FROM lake.raw.{fresh}") == 6


@pytest.mark.parametrize("transform", ["month", "day", "hour"])
def test_transforms_of_time(engine: LiveEngine, fresh: str, transform: str) -> None:
    engine.run(writing(ROWS, table(fresh), partitions=(by(transform, "TS", name="part"),)))
    [entry] = engine.inspect("table", table(fresh))["partitions"]
    assert (entry["transform"], entry["column"], entry["name"]) == (transform, "ts", "part")


def test_the_same_spec_is_accepted_again_and_another_is_refused(engine: LiveEngine, fresh: str) -> None:
    engine.run(writing(ROWS, table(fresh), partitions=(by("month", "ts", name="m"),)))
    engine.run(writing(ROWS, table(fresh), mode="append", partitions=(by("month", "ts"),)))
    engine.run(writing(ROWS, table(fresh), mode="append"))
    for other in (by("day", "ts"), by("month", "ts", name="other")):
        assert engine.fail(writing(ROWS, table(fresh), partitions=(other,))).code == "partition-spec-differs"
    assert engine.value(f"SELECT count(*) FROM lake.raw.{fresh}") == 18


@pytest.mark.parametrize(
    ("field", "code"),
    [
        (by("month", "text"), "partition-invalid"),
        (by("hour", "id"), "partition-invalid"),
        (by("month", "ts", name="text"), "partition-invalid"),
        (by("month", "nothing"), "column-not-found"),
    ],
)
def test_impossible_specs_create_no_table(engine: LiveEngine, fresh: str, field: PartitionField, code: str) -> None:
    assert engine.fail(writing(ROWS, table(fresh), partitions=(field,))).code == code
    assert engine.refused_query(f"SELECT * FROM lake.raw.{fresh}").code == "table-or-view-not-found"


def test_properties_comment_and_tags_of_a_new_table(engine: LiveEngine, fresh: str) -> None:
    properties = {"write.metadata.compression-codec": "gzip", "commit.retry.num-retries": "7"}
    engine.run(writing(ROWS, table(fresh), properties=properties, comment="Trips", tags=("Connect", "NY-Taxi")))
    found = engine.inspect("table", table(fresh))["properties"]
    assert found["comment"] == "Trips"
    assert found["catchment.tags"] == "Connect,NY-Taxi"
    assert found["write.metadata.compression-codec"] == "gzip"
    assert (found["commit.retry.num-retries"], found["commit.retry.max-wait-ms"]) == ("7", "2000")


def test_a_property_that_an_existing_table_does_not_have_is_a_warning(engine: LiveEngine, fresh: str) -> None:
    engine.run(writing(ROWS, table(fresh)))
    pending = engine.start_job(writing(ROWS, table(fresh), properties={"write.format.default": "orc"}))
    pending.done()
    assert any("write.format.default" in note.data["message"] for note in pending.notes if note.event == "warning")


STRANGE = "VALUES (1, 'NaN'), (2, 'Infinity'), (3, '-Infinity'), (4, '0'), (5, '-0.0'), (6, '0.1') AS v(id, t)"
"""Numbers that JSON does not have, and two that are equal but not the same."""


def test_every_number_is_a_partition_of_its_own(engine: LiveEngine, fresh: str) -> None:
    rows = f"SELECT id, DOUBLE(t) AS x, FLOAT(t) AS y FROM {STRANGE}"
    spec = (by("identity", "x"), by("identity", "y"))
    engine.run(writing(rows, table(fresh), mode="append", partitions=spec))
    engine.run(writing(rows, table(fresh), mode="append", commit="direct"))
    engine.run(writing(rows, table(fresh), mode="overwrite-partitions"))
    assert engine.value(f"SELECT count(*) FROM lake.raw.{fresh}") == 6
    assert engine.rows(f"SELECT id FROM lake.raw.{fresh} WHERE isnan(x) AND isnan(y)") == [(1,)]
    assert engine.value(f"SELECT count(*) FROM lake.raw.{fresh}.partitions") == 6


def test_texts_with_ends_of_lines_are_partitions_too(engine: LiveEngine, fresh: str) -> None:
    texts = r"VALUES (1, 'a\u2028b'), (2, 'a\u0085b'), (3, 'a\nb'), (4, 'a\fb'), (5, 'a\"\\b') AS v(id, part)"
    for mode in ("append", "overwrite-partitions"):
        engine.run(writing(f"SELECT * FROM {texts}", table(fresh), mode=mode, partitions=(by("identity", "part"),)))
    assert engine.value(f"SELECT count(*) FROM lake.raw.{fresh} JOIN {texts} USING (id, part)") == 5

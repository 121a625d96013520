"""Paimon tables: keys, buckets, columns, history and maintenance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from catchment.plan.model import Commits, Dataset, Expire, Expiry, JobPlan, Partition, Rewrite
from tests.spark.lake import HERE, LiveEngine, by, changing, clause, job, maintaining, output, reading, writing
from tests.spark.paimon.jobs import appending, ids, keyed, place_of, snapshots, with_output

pytestmark = pytest.mark.slow


def rows(engine: LiveEngine, target: Dataset) -> list[tuple[Any, ...]]:
    return engine.rows(f"SELECT * FROM {target.identifier} ORDER BY ALL")


def test_columns_stay_if_a_writer_does_not_bring_them(here: LiveEngine, target: Dataset) -> None:
    engine = {"merge_engine": "partial-update"}
    here.run(keyed("SELECT id, 'a' AS a, CAST(NULL AS STRING) AS b FROM range(2)", target, **engine))
    here.run(keyed("SELECT id, 'b' AS B FROM range(3)", target, **engine))
    assert rows(here, target) == [(0, "a", "b"), (1, "a", "b"), (2, None, "b")]


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({}, [(1, "new", 1)]),
        ({"sequence--field": "n"}, [(1, "old", 5)]),
        (
            {"merge_engine": "aggregation", "fields--v--aggregate_function": "last_value"}
            | {"fields--n--aggregate_function": "sum"},
            [(1, "new", 6)],
        ),
    ],
    ids=["the last one", "a sequence", "a sum"],
)
def test_rows_of_one_key(
    here: LiveEngine, target: Dataset, properties: dict[str, str], expected: list[tuple[Any, ...]]
) -> None:
    here.run(keyed("SELECT 1L AS id, 'old' AS v, 5L AS n", target, **properties))
    here.run(keyed("SELECT 1L AS id, 'new' AS v, 1L AS n", target, **properties))
    assert rows(here, target) == expected


def test_a_new_column_of_an_aggregation_needs_a_function(here: LiveEngine, target: Dataset) -> None:
    def growing(sql: str, **properties: str) -> JobPlan:
        return with_output(keyed(sql, target, **properties), merge_schema=True)

    made = {"merge_engine": "aggregation", "fields__n__aggregate_function": "sum"}
    here.run(keyed("SELECT 1L AS id, 1L AS n", target, **made))
    bare = here.fail(growing("SELECT 1L AS id, 1L AS n, 5L AS top", **made))
    assert (bare.code, bare.where, rows(here, target)) == ("aggregation-without-function", HERE, [(1, 1)])
    for top in (5, 3):
        here.run(growing(f"SELECT 1L AS id, 1L AS n, {top}L AS top", fields__top__aggregate_function="max"))
    assert rows(here, target) == [(1, 3, 5)]
    for least in (2, 4):
        sql = f"SELECT 1L AS id, 1L AS n, 0L AS top, {least}L AS least"
        here.run(growing(sql, fields__default_aggregate_function="min"))
    assert rows(here, target) == [(1, 5, 5, 2)]


def test_the_first_row_is_seen_after_a_compaction(here: LiveEngine, target: Dataset) -> None:
    first = here.start_job(keyed("SELECT 1L AS id, 'old' AS v", target, merge_engine="first-row"))
    first.done()
    assert "after the next compaction" in str([note.data for note in first.notes if note.event == "warning"])
    here.run(keyed("SELECT 1L AS id, 'new' AS v", target, merge_engine="first-row"))
    here.maintain(target, Rewrite())
    assert rows(here, target) == [(1, "old")]


def test_writers_of_dynamic_buckets_take_turns(here: LiveEngine, there: LiveEngine, target: Dataset) -> None:
    jobs = [keyed(f"SELECT id, 'j{n}' AS v FROM range(50)", target, name=f"j{n}", bucket="-1") for n in range(4)]
    for pending in [(here, there)[n % 2].start_job(each) for n, each in enumerate(jobs)]:
        pending.done()
    assert ids(here, target) == list(range(50))
    assert len({row[1] for row in rows(here, target)}) == 1


Row = tuple[int, str, str]


def expected(before: list[Row], mode: str, new: list[Row], keys: Sequence[str]) -> list[Row]:
    """The rows after a write; a key that it brings has no other row."""
    days = {day for _, _, day in new}
    kept = [row for row in before if mode == "append" or (mode == "overwrite-partitions" and row[2] not in days)]

    def key(row: Row) -> list[object]:
        return [dict(zip(("id", "v", "day"), row, strict=True))[name] for name in keys]

    brought = [key(row) for row in new] if keys else []
    return sorted([*(row for row in kept if key(row) not in brought), *new])


@pytest.mark.parametrize(
    ("keys", "properties"),
    [
        (("id", "day"), {"bucket": "2"}),
        (("id", "day"), {"bucket": "-1", "dynamic-bucket.target-row-num": "2"}),
        (("id",), {"bucket": "-1"}),
        ((), {"bucket": "2", "bucket-key": "id"}),
    ],
    ids=["fixed", "dynamic", "across partitions", "without a primary key"],
)
def test_overwrites_and_appends_in_buckets(
    here: LiveEngine, target: Dataset, keys: Sequence[str], properties: dict[str, str]
) -> None:
    parts, found = (by("identity", "day"),), list[Row]()
    written: list[tuple[str, list[Row]]] = [
        ("append", [(n, "first", "a" if n < 6 else "b") for n in range(12)]),
        ("overwrite-partitions", [(n, "second", "a") for n in (3, 6, 20)]),
        ("append", [(3, "third", "a"), (7, "third", "b"), (20, "third", "b")]),
        ("overwrite", [(n, "fourth", "a" if n < 9 else "b") for n in range(7, 11)]),
        ("append", [(7, "fifth", "b"), (9, "fifth", "b")]),
    ]
    for mode, new in written:
        values = ", ".join(f"({id}L, '{v}', '{day}')" for id, v, day in new)
        job = keyed(f"SELECT * FROM VALUES {values} AS rows (id, v, day)", target, *keys, mode=mode)
        fields = {"partitions": parts, "properties": properties}
        job = with_output(job, **fields if keys else {**fields, "primary_key": ()})
        if mode == "overwrite-partitions" and keys == ("id",):
            assert here.fail(job).code == "overwrite-unsupported"
            assert here.start_maintenance(target, Rewrite()).failed().code == "unsupported-actions"
        else:
            here.run(job)
            found = expected(found, mode, new, keys)
        assert rows(here, target) == found
    assert properties.items() <= here.inspect("table", target)["properties"].items()


@pytest.mark.exhaustive
def test_columns_that_grow_and_columns_that_do_not_fit(here: LiveEngine, target: Dataset) -> None:
    here.run(writing("SELECT 1 AS id, named_struct('a', 1, 'z', 0) AS s", target, mode="append"))
    mixed = "SELECT 2 AS id, named_struct('z', 0, 'a', 1) AS s"
    assert here.fail(writing(mixed, target, mode="append")).code == "schema-mismatch"
    grown = "SELECT 2L AS id, named_struct('a', 2, 'z', 0) AS s, 'x' AS more"
    assert here.fail(writing(grown, target, mode="append")).code == "schema-mismatch"
    here.run(writing(grown, target, mode="append", merge_schema=True))
    nested = "SELECT 3L AS id, named_struct('a', 3, 'z', 0, 'b', 3) AS s, 'x' AS more"
    assert here.fail(writing(nested, target, mode="append", merge_schema=True)).code == "schema-mismatch"
    assert here.rows(f"SELECT id, s.a, more FROM {target.identifier} ORDER BY id") == [(1, 1, None), (2, 2, "x")]


@pytest.mark.exhaustive
def test_the_way_back(here: LiveEngine, target: Dataset, fresh: str) -> None:
    for first in (0, 5, 10):
        here.run(appending(target, first))
    tagged = here.change(changing(target, "tag_create", tag="two", snapshot="2"))
    assert (tagged["after"], tagged["changed"]) == ("2", True)
    assert here.inspect("table", target)["tags"] == [{"name": "two", "snapshot_id": "2"}]
    for options in ({"scan.snapshot-id": "2"}, {"scan.tag-name": "two"}):
        copy = replace(target, address=f"{target.address}-copy", table=f"{fresh}copy")
        here.run(job(output("rows", copy, mode="overwrite"), inputs=[reading("rows", target, **options)]))
        assert ids(here, copy) == list(range(10))
    preview = here.change(changing(target, "rollback", snapshot="2"), dry_run=True)
    assert [len(each["write_ids"]) for each in preview["undone"]] == [1]
    here.change(changing(target, "rollback", snapshot="2"))
    assert ids(here, target) == list(range(10))
    here.run(appending(target, 20))
    assert ids(here, target) == [*range(10), *range(20, 25)]
    here.change(changing(target, "tag_delete", tag="two"))
    assert here.inspect("table", target)["tags"] == []


def test_what_was_appended_since_the_last_run(here: LiveEngine, target: Dataset, fresh: str) -> None:
    copy = replace(target, address=f"{target.address}-copy", table=f"{fresh}copy")
    source = replace(reading("rows", target), commits=Commits(HERE))
    follow = job(output("rows", copy, mode="append"), inputs=[source], name="follow")
    here.run(appending(target, 0))
    for number, first in enumerate((5, 10), start=1):
        here.run(follow, workflow=f"w-{fresh}")
        assert ids(here, copy) == list(range(5 * number))
        here.run(appending(target, first))
    here.maintain(target, Rewrite())
    here.run(follow, workflow=f"w-{fresh}")
    assert ids(here, copy) == list(range(15))
    here.run(writing("SELECT 1L AS id", target, mode="overwrite"))
    assert here.fail(follow, workflow=f"w-{fresh}").code == "source-overwritten"


def test_compaction_and_expiry(here: LiveEngine, target: Dataset) -> None:
    parts = (by("identity", "day"),)
    for n in range(3):
        here.run(
            writing(f"SELECT {n}L AS id, explode(array('a', 'b')) AS day", target, mode="append", partitions=parts)
        )
    for chosen in (Rewrite(condition=clause("day = 'a'")), Rewrite(partitions=(Partition({"day": "b"}),))):
        done = here.maintain(target, chosen)
        assert (done["rewritten_files"], done["added_files"]) == (3, 1)
    assert len(ids(here, target)) == 6
    looked = here.maintain(target, Expire(before=2**42, retain_last=2), dry_run=True)
    gone = here.maintain(target, Expire(before=2**42, retain_last=2))
    assert gone["snapshots"] == looked["snapshots"]
    assert len(snapshots(here, target)) == 2
    assert len(ids(here, target)) == 6


@pytest.mark.parametrize(
    ("write_only", "expiry", "left"),
    [
        ("true", Expiry(retention=0.0), 1),
        ("true", Expiry(), 4),  # nothing is five days old
        ("true", None, 4),
        ("false", Expiry(retention=0.0), 4),
    ],
)
def test_a_compaction_in_a_job_expires_what_writers_leave_to_it(
    here: LiveEngine, target: Dataset, write_only: str, expiry: Expiry | None, left: int
) -> None:
    made = {"bucket": "1", "write-only": write_only}
    for number in range(3):
        here.run(keyed(f"SELECT {number}L AS id", target, **made))
    here.run(maintaining(target, Rewrite(), expiry=expiry))
    assert (len(snapshots(here, target)), ids(here, target)) == (left, [0, 1, 2])


def test_an_expiry_keeps_what_the_table_and_its_consumers_need(here: LiveEngine, target: Dataset, root: Path) -> None:
    says = {"bucket": "1", "snapshot.time-retained": "1 ms", "snapshot.num-retained.min": "2"}
    for number in range(5):
        here.run(keyed(f"SELECT {number}L AS id", target, **says))
    consumer = place_of(target, root) / "consumer" / "consumer-me"
    consumer.parent.mkdir()
    consumer.write_text('{"nextSnapshot": 3}')
    assert here.maintain(target, Expire(), dry_run=True)["kept"] == {"consumers": ["3"]}
    here.maintain(target, Expire())
    assert len(snapshots(here, target)) == 3
    consumer.unlink()
    here.maintain(target, Expire())
    assert len(snapshots(here, target)) == 2


@pytest.mark.parametrize("order", ["zorder(b, a)", "b, a"])
def test_rows_are_sorted(here: LiveEngine, target: Dataset, order: str) -> None:
    for a in range(4):
        here.run(writing(f"SELECT {a} AS a, CAST(id AS INT) AS b FROM range(4)", target, mode="append"))
    assert here.maintain(target, Rewrite("sort", order))["rewritten_files"]
    curve = [(a, b) for b in (0, 1) for a in (0, 1)] if order.startswith("z") else [(a, 0) for a in range(4)]
    assert here.rows(f"SELECT a, b FROM {target.identifier}")[:4] == curve
    assert len(rows(here, target)) == 16


COLUMNS = ("day", "at", "local", "what")
PARTITIONS = {
    "DATE '2026-03-01', TIMESTAMP '2026-03-01 05:00:00Z', TIMESTAMP_NTZ '2026-03-01 05:00:00.000001', 'a/b'": (
        ("2026-03-01", "2026-03-01T05:00Z", "2026-03-01T05:00:00.000001", "a/b")
    ),
    "DATE '9999-12-31', TIMESTAMP '9999-12-31 23:59:59Z', TIMESTAMP_NTZ '0001-01-01 00:00:00', ' '": (
        ("9999-12-31", "9999-12-31T23:59:59Z", "0001-01-01T00:00", " ")
    ),
    "null, null, null, null": (None, None, None, None),
}
"""Rows whose directories do not tell their values: that of a date has a number, a blank is like null."""


@pytest.mark.parametrize("legacy", ["true", "false"])
@pytest.mark.parametrize("keys", [(), ("id", *COLUMNS)], ids=["append", "keyed"])
def test_partitions_are_compacted_whatever_their_directories_are_called(
    here: LiveEngine, target: Dataset, keys: tuple[str, ...], legacy: str
) -> None:
    chosen = list(PARTITIONS.items())[: 2 if keys else 3]  # no column of a key is null
    values = [dict(zip(COLUMNS, texts, strict=True)) for _, texts in chosen]
    sql = f"* FROM VALUES {', '.join(f'({row})' for row, _ in chosen)} AS rows ({', '.join(COLUMNS)})"
    parts = tuple(by("identity", name) for name in COLUMNS)
    for number in range(4):
        made = {"bucket": "1" if keys else "-1", "partition--legacy-name": legacy}
        job = keyed(f"SELECT {number}L AS id, {sql}", target, *keys, **made)
        here.run(with_output(job, partitions=parts, **({} if keys else {"primary_key": ()})))

    before = here.health(target).partitions
    assert sorted(map(str, values)) == sorted(str(dict(each.partition or {})) for each in before)
    assert {(each.files, each.burden) for each in before} == {(4, 4)}
    for each in values[:2]:
        one = Rewrite(partitions=(Partition(each),))
        assert here.maintain(target, one, dry_run=True)["rewritten_files"] == 4
        assert here.maintain(target, one)["rewritten_files"] == 4
    here.maintain(target, Rewrite())
    assert {(each.files, each.burden) for each in here.health(target).partitions} == {(1, 0 if keys else 1)}
    assert len(ids(here, target)) == 4 * len(values)


@pytest.mark.exhaustive
def test_what_an_upkeep_of_paimon_tables_does_not_take(here: LiveEngine, target: Dataset) -> None:
    for first in (0, 5):
        here.run(keyed(f"SELECT id FROM range({first}, {first + 5}, 1, 1)", target, bucket="1"))
    looked = here.maintain(target, Rewrite(), dry_run=True)
    assert [(part["partition"], part["files"]) for part in looked["partitions"]] == [("bucket-0", 2)]
    for operation in (Rewrite(properties={"rewrite-all": "true"}), Expire(snapshot_ids=("1",))):
        refused = here.start_maintenance(target, operation).failed()
        assert refused.code == "unsupported-option"
    assert len(snapshots(here, target)) == 2
    done = here.maintain(target, Rewrite())
    assert (done["rewritten_files"], done["added_files"], ids(here, target)) == (2, 1, list(range(10)))

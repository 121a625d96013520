"""Writes through buffers into tables of every shape: versions, branches, evolved schemas and specs, conflicts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from catchment.plan.model import JobPlan
from tests.concurrency.invariants import check, ids
from tests.spark.lake import LiveEngine, by, job, lake_depot, output, step, table, writing


def appending(name: str, first: int, count: int = 5, **more: Any) -> JobPlan:
    return writing(f"SELECT id FROM range({first}, {first + count})", table(name), mode="append", **more)


@pytest.mark.parametrize("version", ["1", "2", "3"])
def test_every_version_of_the_format_takes_buffers(engine: LiveEngine, fresh: str, version: str) -> None:
    properties = {"format-version": version}
    engine.run(appending(fresh, 0, properties=properties))
    engine.run(appending(fresh, 5, properties=properties))
    engine.run(writing("SELECT id FROM range(7, 9)", table(fresh), properties=properties))
    engine.run(appending(fresh, 20, count=2, properties=properties))
    assert ids(engine, fresh) == [7, 8, 20, 21]
    if version == "3":
        assert engine.value(f"SELECT count(DISTINCT _row_id) FROM lake.raw.{fresh}") == 4
    check(engine, fresh)


@pytest.mark.parametrize("how", ["buffered", "direct"])
def test_a_commit_reads_no_list_that_its_engine_has_just_written(engine: LiveEngine, fresh: str, how: str) -> None:
    engine.run(appending(fresh, 0, commit=how))
    [location] = engine.value(f"SELECT collect_list(manifest_list) FROM lake.raw.{fresh}.snapshots")
    written = Path(str(location).removeprefix("file:"))
    away = written.rename(written.with_suffix(".away"))
    engine.run(appending(fresh, 5, commit=how))
    away.rename(written)
    assert ids(engine, fresh) == list(range(10))
    check(engine, fresh)


@pytest.mark.slow
def test_manifests_that_iceberg_is_told_to_cache_are_read_once_by_all_commits(
    start_engine: Callable[..., LiveEngine], root: Path, fresh: str
) -> None:
    def replacing(*parts: int) -> JobPlan:
        sql = f"SELECT explode(array({', '.join(map(str, parts))})) AS part"
        return writing(sql, table(fresh), mode="overwrite-partitions", partitions=(by("identity", "part"),))

    depot = lake_depot(root)
    assert depot.catalog
    caching = replace(depot.catalog, properties={"io.manifest.cache-enabled": "true"})
    engine = start_engine(replace(depot, catalog=caching))
    engine.run(replacing(1, 3))
    [location] = engine.value(f"SELECT collect_list(path) FROM lake.raw.{fresh}.manifests")
    engine.run(replacing(2))  # by its bounds, the manifest may have this partition
    written = Path(str(location).removeprefix("file:"))
    away = written.rename(written.with_suffix(".away"))
    engine.run(replacing(2))
    away.rename(written)
    assert engine.rows(f"SELECT part FROM lake.raw.{fresh} ORDER BY part") == [(1,), (2,), (3,)]


def test_a_branch_gets_what_is_written_to_it_and_main_does_not(engine: LiveEngine, fresh: str) -> None:
    engine.run(appending(fresh, 0))
    engine.ask(f"ALTER TABLE lake.raw.{fresh} CREATE BRANCH audit")
    engine.run(appending(fresh, 100, options={"branch": "audit"}))
    engine.run(appending(fresh, 5))
    assert ids(engine, fresh) == list(range(10))
    on_branch = engine.rows(f"SELECT id FROM lake.raw.{fresh} VERSION AS OF 'audit' ORDER BY id")
    assert [row[0] for row in on_branch] == [*range(5), *range(100, 105)]


def test_an_encrypted_table_gets_no_open_files(engine: LiveEngine, fresh: str) -> None:
    """Whatever a table says, Iceberg encrypts nothing in this catalog; `test_encryption.py` has one that does."""
    engine.run(appending(fresh, 0))
    engine.ask(f"ALTER TABLE lake.raw.{fresh} SET TBLPROPERTIES ('encryption.key-id' = 'key')")
    assert engine.fail(appending(fresh, 5)).code == "encrypted-table"
    assert engine.fail(appending(fresh, 5, commit="direct")).code == "encryption-unavailable"
    assert ids(engine, fresh) == list(range(5))


def test_columns_that_were_dropped_renamed_and_added_keep_their_meaning(engine: LiveEngine, fresh: str) -> None:
    engine.run(writing("SELECT 1 AS id, 'a' AS x, 'b' AS y", table(fresh), mode="append"))
    for change in ("DROP COLUMN x", "RENAME COLUMN y TO z", "ADD COLUMN x INT"):
        engine.ask(f"ALTER TABLE lake.raw.{fresh} {change}")
    engine.run(writing("SELECT 2 AS id, 'c' AS z, 7 AS x", table(fresh), mode="append"))
    assert engine.rows(f"SELECT id, z, x FROM lake.raw.{fresh} ORDER BY id") == [(1, "b", None), (2, "c", 7)]
    check(engine, fresh)


@pytest.mark.slow
def test_after_a_new_partition_spec_appends_go_on_and_a_dynamic_overwrite_is_refused(
    engine: LiveEngine, fresh: str
) -> None:
    sql = "SELECT id, id % 2 AS part FROM range({})"
    engine.run(writing(sql.format(4), table(fresh), mode="append", partitions=(by("identity", "part"),)))
    engine.ask(f"ALTER TABLE lake.raw.{fresh} ADD PARTITION FIELD bucket(4, id)")
    engine.run(writing(sql.format(6), table(fresh), mode="append"))
    refused = engine.fail(writing(sql.format(2), table(fresh), mode="overwrite-partitions"))
    assert refused.code == "mixed-partition-specs"
    assert ids(engine, fresh) == sorted([*range(4), *range(6)])
    engine.run(writing(sql.format(3), table(fresh)))
    engine.run(writing(sql.format(3), table(fresh), mode="overwrite-partitions"))
    assert ids(engine, fresh) == [0, 1, 2]
    check(engine, fresh)


def test_an_empty_append_succeeds_and_an_empty_overwrite_empties(engine: LiveEngine, fresh: str) -> None:
    engine.run(appending(fresh, 0))
    [report] = engine.run(appending(fresh, 0, count=0))
    assert (report.rows, report.files, report.snapshot_id) == (0, 0, None)
    assert ids(engine, fresh) == list(range(5))
    engine.run(writing("SELECT id FROM range(0)", table(fresh)))
    assert ids(engine, fresh) == []


def meanwhile(fresh: str, conflict: str) -> JobPlan:
    """A job that replaces a partition with what it read there, and is overtaken while it computes."""
    reading = f"SELECT max(id) + 1 AS id, 0 AS part FROM lake.raw.{fresh} WHERE part = 0"
    slow = "SELECT * FROM seen WHERE coalesce(java_method('java.lang.Thread', 'sleep', 6000L), '') <> 'never'"
    steps = [step("seen", reading), step("rows", slow)]
    out = output("rows", table(fresh), mode="overwrite-partitions", conflict=conflict)
    return job(out, steps=steps, name="overtaken")


@pytest.mark.parametrize(
    ("conflict", "left"),
    [
        pytest.param("last-wins", [2], marks=pytest.mark.slow),
        ("fail", [9]),
        pytest.param("rerun", [10], marks=pytest.mark.slow),
    ],
)
@pytest.mark.slow
def test_a_job_that_is_overtaken_in_its_partition(
    engine: LiveEngine, fresh: str, conflict: str, left: list[int]
) -> None:
    spec = (by("identity", "part"),)
    engine.run(writing("SELECT 1 AS id, 0 AS part", table(fresh), mode="append", partitions=spec))
    overtaken = engine.start_job(meanwhile(fresh, conflict))
    overtaken.wait_for("progress")
    engine.run(writing("SELECT 9 AS id, 0 AS part", table(fresh), mode="overwrite-partitions"))
    if conflict == "fail":
        failed = overtaken.failed()
        assert (failed.code, failed.retryable) == ("partitions-changed", True)
    else:
        overtaken.done()
    assert ids(engine, fresh) == left
    check(engine, fresh)


def test_a_direct_commit_is_a_snapshot_of_its_own(engine: LiveEngine, fresh: str) -> None:
    engine.run(appending(fresh, 0, commit="direct"))
    engine.run(appending(fresh, 5, commit="direct"), run=f"r-{fresh}")
    engine.run(appending(fresh, 5, commit="direct"), run=f"r-{fresh}", number=2)
    assert ids(engine, fresh) == list(range(10))
    assert len(engine.inspect("snapshots", table(fresh))["snapshots"]) == 2

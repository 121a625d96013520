"""What readers of the published catalog see: one version, until another one is published."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from catchment.plan.model import ChangePlan, Expire, JobPlan, RemoveOrphans, Rewrite
from catchment.store import open_store
from catchment.store.publications import Publication
from tests.concurrency.invariants import ids
from tests.spark.lake import HERE, LiveEngine, changing, lake_depot, maintaining, table, writing
from tests.spark.overtaking import at_gate, passing
from tests.spark.readers import duckdb_ids, pyiceberg_ids, pyiceberg_table

FAR = 4_000_000_000_000
"""A moment that everything is older than."""


def appending(name: str, *numbers: int, **more: Any) -> JobPlan:
    sql = f"SELECT id FROM VALUES {', '.join(f'({number})' for number in numbers)} AS t(id)"
    return writing(sql, table(name), name=f"from-{numbers[0]}", mode="append", **more)


def version(name: str, value: str) -> ChangePlan:
    return changing(table(name), "set_version", value=value)


def publish(engine: LiveEngine, name: str, value: str = "latest", **more: Any) -> Mapping[str, Any]:
    return engine.change(version(name, value), **more)


def versions(engine: LiveEngine, name: str) -> list[Mapping[str, Any]]:
    return list(engine.inspect("versions", table(name))["versions"])


def published(engine: LiveEngine, name: str) -> list[int]:
    return [row[0] for row in engine.rows(f"SELECT id FROM lake_published.raw.{name} ORDER BY id")]


def record(root: Path, name: str) -> list[Publication]:
    with open_store(f"sqlite:///{root}/metastore.db") as store:
        return list(store.publications.of_table(table(name).address))


def job_of(change: ChangePlan) -> JobPlan:
    return JobPlan("publishing", "default", HERE, change=change)


def files_of(root: Path, name: str) -> set[Path]:
    return {path for path in (root / "lake" / "raw" / name).rglob("*") if path.is_file()}


@pytest.mark.slow
def test_readers_see_the_published_version_until_it_is_moved(engine: LiveEngine, fresh: str, root: Path) -> None:
    database, name = root / "lake" / "catalog.db", f"raw.{fresh}"
    engine.run(appending(fresh, 1))
    assert pyiceberg_table(database, "lake_published", name) is None
    first = publish(engine, fresh)
    engine.run(appending(fresh, 2))
    # Whoever reads the depot sees both rows, whoever reads the published catalog sees the first alone.
    assert pyiceberg_ids(database, "lake", name) == ids(engine, fresh) == [1, 2]
    assert pyiceberg_ids(database, "lake_published", name) == published(engine, fresh) == [1]
    assert duckdb_ids(first["after"]["location"]) == [1]
    there = files_of(root, fresh)
    second = publish(engine, fresh)
    assert pyiceberg_ids(database, "lake_published", name) == published(engine, fresh) == [1, 2]
    assert duckdb_ids(second["after"]["location"]) == [1, 2]
    back = publish(engine, fresh, first["after"]["file"])
    assert (back["before"]["file"], back["after"]) == (second["after"]["file"], first["after"])
    assert pyiceberg_ids(database, "lake_published", name) == published(engine, fresh) == [1]
    found = pyiceberg_table(database, "lake_published", name)
    assert found
    assert found.metadata_location == first["after"]["location"]
    assert publish(engine, fresh)["after"] == second["after"]
    assert published(engine, fresh) == ids(engine, fresh) == [1, 2]
    # Not a file and not a snapshot came or went by that.
    assert files_of(root, fresh) == there
    assert len(engine.inspect("snapshots", table(fresh))["snapshots"]) == 2


@pytest.mark.slow
def test_every_spelling_of_a_version(engine: LiveEngine, fresh: str) -> None:
    gzip = {"write.metadata.compression-codec": "gzip"}
    reports = [engine.run(appending(fresh, number, properties=gzip))[0] for number in (1, 2, 3)]
    listed = versions(engine, fresh)
    assert [entry["version"] for entry in listed] == [1, 2, 3, 4]
    assert [entry["snapshot_id"] for entry in listed] == [None, *(report.snapshot_id for report in reports)]
    assert [entry["working"] for entry in listed] == [False, False, False, True]
    assert [entry["published"] for entry in listed] == [False] * 4
    assert all(entry["file"].endswith(".gz.metadata.json") for entry in listed)
    spellings = {
        "v3": [1, 2],
        "v2.gz.metadata.json": [1],
        "v4.metadata.json": [1, 2, 3],
        "v2.json": [1],
        listed[2]["file"]: [1, 2],
        str(reports[0].snapshot_id): [1],
        "latest": [1, 2, 3],
        "v1": [],
    }
    for value, expected in spellings.items():
        assert publish(engine, fresh, value)["changed"]
        assert published(engine, fresh) == expected, value
    assert [entry["published"] for entry in versions(engine, fresh)] == [True, False, False, False]


def test_a_job_of_the_toolbox_publishes_and_the_record_says_who(engine: LiveEngine, fresh: str, root: Path) -> None:
    written = engine.run(appending(fresh, 1))[0]
    pending = engine.start_job(job_of(version(fresh, "latest")), run="the-run")
    (report,) = pending.done()
    assert (report.name, report.dataset, report.rows) == ("set_version", table(fresh).address, None)
    assert (report.snapshot_id, report.write_id) == (written.snapshot_id, "the-run/publishing/set_version")
    again = engine.start_job(job_of(version(fresh, "latest")), run="the-next")
    again.done()
    assert "nothing to change" in str([note.data for note in again.notes])
    engine.run(appending(fresh, 2))
    publish(engine, fresh)
    first, second = record(root, fresh)
    assert (first.run_id, first.job, first.before, str(first.snapshot_id)) == (
        *("the-run", "publishing", None),
        written.snapshot_id,
    )
    assert "@" in first.by
    assert (second.by, second.run_id, second.before, second.catalog) == ("somebody", None, first.file, "lake_published")


def test_a_dry_run_moves_nothing(engine: LiveEngine, fresh: str, root: Path) -> None:
    engine.run(appending(fresh, 1))
    looked = publish(engine, fresh, dry_run=True)
    assert (looked["changed"], looked["before"], looked["after"]["version"]) == (True, None, 2)
    assert record(root, fresh) == []
    refused = engine.refused_query(f"SELECT id FROM lake_published.raw.{fresh}")
    assert (refused.code, table(fresh).address in str(refused.hint)) == ("never-published", True)
    publish(engine, fresh)
    engine.run(appending(fresh, 2))
    assert publish(engine, fresh, dry_run=True)["changed"]
    assert published(engine, fresh) == [1]


def test_what_is_not_there_is_named_at_its_place(engine: LiveEngine, fresh: str, tmp_path: Path) -> None:
    missing = engine.start_change(version(fresh, "latest")).failed()
    assert (missing.code, str(missing.where)) == ("table-not-found", "workflow.yaml:30:9")
    engine.run(appending(fresh, 1))
    for value in ("v9", "4", "nonsense.json", "v0"):
        failed = engine.fail(job_of(version(fresh, value)))
        assert (failed.code, str(failed.where), failed.retryable) == ("version-not-found", "workflow.yaml:30:9", False)
        assert "v1 00000-" in str(failed.hint)
    location = publish(engine, fresh, "v1")["after"]["location"]
    Path(location.removeprefix("file:")).rename(tmp_path / "elsewhere.json")
    gone = engine.start_change(version(fresh, "v1")).failed()
    assert (gone.code, "is missing" in gone.message) == ("version-not-found", True)
    assert [entry["readable"] for entry in versions(engine, fresh)] == [False, True]


def test_a_table_that_throws_its_metadata_away_is_not_published(engine: LiveEngine, fresh: str) -> None:
    forgetful = {"write.metadata.delete-after-commit.enabled": "true"}
    engine.run(appending(fresh, 1, properties=forgetful))
    failed = engine.start_change(version(fresh, "latest")).failed()
    assert failed.code == "metadata-not-kept"


def test_a_version_that_the_table_has_forgotten_stays_published(engine: LiveEngine, fresh: str) -> None:
    engine.run(appending(fresh, 1, properties={"write.metadata.previous-versions-max": "1"}))
    shown = publish(engine, fresh)["after"]
    for number in (2, 3):
        engine.run(appending(fresh, number))
    listed = versions(engine, fresh)
    assert [(entry["version"], entry["published"]) for entry in listed] == [(2, True), (3, False), (4, False)]
    assert (published(engine, fresh), listed[0]["file"]) == ([1], shown["file"])


def test_readers_are_not_disturbed_when_the_table_is_dropped(engine: LiveEngine, fresh: str, root: Path) -> None:
    engine.run(appending(fresh, 1))
    publish(engine, fresh)
    engine.ask(f"DROP TABLE lake.raw.{fresh}")
    assert published(engine, fresh) == [1]
    shutil.rmtree(root / "lake" / "raw" / fresh)
    engine.run(appending(fresh, 5))
    publish(engine, fresh)
    assert published(engine, fresh) == [5]


@pytest.mark.slow
def test_maintenance_keeps_what_is_published(engine: LiveEngine, fresh: str, root: Path) -> None:
    engine.run(appending(fresh, 1, properties={"write.metadata.previous-versions-max": "1"}))
    first = publish(engine, fresh)
    for number in (2, 3, 4):
        engine.run(writing(f"SELECT {number} AS id", table(fresh)))
    seen = Path(first["after"]["location"].removeprefix("file:"))
    for path in files_of(root, fresh):
        os.utime(path, (0, 0))
    upkeep = engine.start_job(maintaining(table(fresh), Expire(FAR)))
    upkeep.done()
    assert "readers of the published catalog see them" in str([note.data for note in upkeep.notes])
    left = [each["snapshot_id"] for each in engine.inspect("snapshots", table(fresh))["snapshots"]]
    assert (len(left), left[0]) == (2, first["snapshot_id"])
    # The table itself has forgotten the file that readers see: to it, it is an orphan, and so are others.
    [report] = engine.run(maintaining(table(fresh), RemoveOrphans(FAR)))
    assert ((report.files or 0) > 0, seen.exists()) == (True, True)
    assert published(engine, fresh) == duckdb_ids(str(seen)) == [1]
    publish(engine, fresh)
    engine.run(maintaining(table(fresh), Expire(FAR)))
    assert len(engine.inspect("snapshots", table(fresh))["snapshots"]) == 1
    assert published(engine, fresh) == ids(engine, fresh) == [4]
    forgets = "write.metadata.delete-after-commit.enabled"
    engine.ask(f"ALTER TABLE lake.raw.{fresh} SET TBLPROPERTIES ('{forgets}' = 'true')")
    assert engine.fail(maintaining(table(fresh), Rewrite())).code == "metadata-not-kept"
    engine.run(maintaining(table(fresh), RemoveOrphans()))


def test_a_reader_of_what_was_published_keeps_it(engine: LiveEngine, fresh: str) -> None:
    target = table(fresh)
    engine.run(writing("SELECT id FROM range(0, 1000, 1, 4)", target))
    first = publish(engine, fresh)
    engine.run(writing("SELECT 7L AS id", target))
    engine.run(writing("SELECT 8L AS id", target))
    query = engine.start_query(f"SELECT sum(id) FROM lake_published.raw.{fresh} WHERE {passing(target)}")
    with at_gate(engine, target):
        publish(engine, fresh)
        engine.run(maintaining(target, Expire(FAR)))
    assert query.result().rows == ((sum(range(1000)),),)
    engine.run(maintaining(target, Expire(FAR)))
    assert engine.start_change(version(fresh, first["after"]["file"])).failed().code == "version-expired"
    assert published(engine, fresh) == [8]


@pytest.mark.slow
@pytest.mark.exhaustive
def test_engines_of_both_lines_of_spark_publish_and_change(
    engine: LiveEngine, start_spark_3: Callable[..., LiveEngine], fresh: str, root: Path
) -> None:
    older = start_spark_3(lake_depot(root), key="older")
    older.run(appending(fresh, 1))
    publish(older, fresh)
    engine.run(appending(fresh, 2))
    publish(engine, fresh)
    assert published(older, fresh) == [1, 2]
    assert publish(older, fresh, "v2")["changed"]
    assert published(engine, fresh) == [1]
    first = older.inspect("snapshots", table(fresh))["snapshots"][0]["snapshot_id"]
    for change in (
        changing(table(fresh), "rollback", snapshot=str(first)),
        changing(table(fresh), "tag_create", tag="one"),
        changing(table(fresh), "column_add", column="place", type="struct<city: string>"),
        changing(table(fresh), "column_rename", column="id", to="number"),
        changing(table(fresh), "partition_add", type="bucket", column="number", numBuckets=4),
    ):
        assert older.change(change)["changed"]
    assert engine.rows(f"SELECT number, place FROM lake.raw.{fresh}") == [(1, None)]

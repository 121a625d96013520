"""Actions that look after a table: what they do, that they do it once, and what is wrong with them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from catchment.errors import Position
from catchment.plan.model import Expire, JobPlan, RemoveOrphans, Rewrite, RewriteManifests
from tests.concurrency.invariants import check, ids
from tests.concurrency.waiting import await_pending, held
from tests.ledgers import Filled
from tests.spark.lake import LiveEngine, by, changing, clause, lake_depot, maintaining, table, writing

FAR = 4_000_000_000_000
"""A moment that everything is older than."""


def appended(engine: LiveEngine, name: str, times: int, **more: Any) -> None:
    for first in range(0, 10 * times, 10):
        sql = f"SELECT id, id % 2 AS part FROM range({first}, {first + 10})"
        engine.run(writing(sql, table(name), mode="append", **more))


def files(engine: LiveEngine, name: str) -> int:
    return int(engine.value(f"SELECT count(*) FROM lake.raw.{name}.files"))


def snapshots(engine: LiveEngine, name: str) -> list[str]:
    return [each["snapshot_id"] for each in engine.inspect("snapshots", table(name))["snapshots"]]


def orphan(engine: LiveEngine, name: str, file: str = "data/orphan.parquet") -> Path:
    """A file that nobody refers to, as old as can be."""
    place = Path(engine.inspect("table", table(name))["location"]) / file
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("nobody's")
    os.utime(place, (0, 0))
    return place


def warnings(engine: LiveEngine, job: JobPlan) -> list[str]:
    pending = engine.start_job(job)
    pending.done()
    return [note.data["message"] for note in pending.notes if note.event == "warning"]


def test_small_files_become_one_and_once(engine: LiveEngine, filled: Filled, fresh: str) -> None:
    appended(engine, fresh, 3)
    rewriting = maintaining(table(fresh), Rewrite(properties={"rewrite-all": "true"}))
    [report] = first = engine.run(rewriting, run=f"r-{fresh}")
    assert (report.files, files(engine, fresh)) == (1, 1)
    assert filled.states(report.write_id) == ["committed"]
    before = snapshots(engine, fresh)
    assert engine.run(rewriting, run=f"r-{fresh}", number=2) == first
    assert snapshots(engine, fresh) == before
    assert ids(engine, fresh) == list(range(30))
    check(engine, fresh)


def test_files_are_chosen_and_sorted(engine: LiveEngine, fresh: str) -> None:
    appended(engine, fresh, 2, partitions=(by("identity", "part"),))
    everything = {"rewrite-all": "true"}
    engine.run(maintaining(table(fresh), Rewrite("sort", "id DESC NULLS LAST", clause("part = 1"), everything)))
    counted = engine.rows(f"SELECT partition.part, count(*) FROM lake.raw.{fresh}.files GROUP BY 1 ORDER BY 1")
    assert counted == [(0, 2), (1, 1)]
    assert [row[0] for row in engine.rows(f"SELECT id FROM lake.raw.{fresh} WHERE part = 1")] == list(range(19, 0, -2))
    engine.run(maintaining(table(fresh), Rewrite("sort", "zorder(id, part)", None, everything)))
    assert (files(engine, fresh), ids(engine, fresh)) == (2, list(range(20)))
    check(engine, fresh)


def test_what_is_wrong_with_a_rewrite(engine: LiveEngine, filled: Filled, fresh: str) -> None:
    appended(engine, fresh, 1)
    there = Position("workflow.yaml", 30, 7)
    wrong = maintaining(table(fresh), Rewrite(condition=clause("colour = 'it\\'s'", there)))
    failed = engine.fail(wrong, run=f"r-{fresh}")
    assert (failed.code, failed.where) == ("column-not-found", there)
    assert filled.states(f"r-{fresh}/upkeep/rewrite_dataset") == ["abandoned"]
    assert engine.fail(maintaining(table(fresh), Rewrite("sort"))).code == "maintenance-failed"
    assert engine.fail(maintaining(table(fresh), Rewrite("sort", "colour DESC"))).code == "maintenance-failed"
    assert engine.fail(maintaining(table(f"{fresh}x"), Rewrite())).code == "table-not-found"


def test_what_a_rewrite_would_do_is_what_it_does(engine: LiveEngine, fresh: str) -> None:
    target = table(fresh)
    appended(engine, fresh, 3, partitions=(by("identity", "part"),))
    before = snapshots(engine, fresh)
    assert engine.maintain(target, Rewrite(), dry_run=True)["partitions"] == []  # fewer than five files in each
    for operation, parts, count in (
        (Rewrite("sort", "id DESC", clause("part = 1"), {"rewrite-all": "true"}), ["part=1"], 3),
        (Rewrite(properties={"min-input-files": "2"}), ["part=0"], 3),
    ):
        looked = engine.maintain(target, operation, dry_run=True)
        assert (snapshots(engine, fresh), looked["dry_run"]) == (before, True)
        [part] = looked["partitions"]
        assert [part["partition"]] == parts
        assert (part["files"], part["bytes"]) == (count, looked["rewritten_bytes"])
        done = engine.maintain(target, operation)
        for key in ("rewritten_files", "rewritten_bytes"):
            assert looked[key] == done[key]
        assert looked["expected_files"] == done["added_files"]
        before = snapshots(engine, fresh)
    engine.ask(f"ALTER TABLE lake.raw.{fresh} ADD PARTITION FIELD bucket(2, id)")
    looked = engine.maintain(target, Rewrite(properties={"min-input-files": "2"}), dry_run=True)
    assert [(each["partition"], each["files"]) for each in looked["partitions"]] == [(None, 2)]
    check(engine, fresh)


def test_a_rewrite_that_would_be_refused_is_refused_when_it_is_looked_at(engine: LiveEngine, fresh: str) -> None:
    appended(engine, fresh, 1)
    for operation, code in (
        (Rewrite(condition=clause("colour = 'it\\'s'")), "column-not-found"),
        (Rewrite("sort"), "maintenance-failed"),
        (Rewrite("sort", "colour DESC"), "maintenance-failed"),
        (Rewrite(properties={"min-input-files": "many"}), "maintenance-failed"),
    ):
        failed = engine.start_maintenance(table(fresh), operation, dry_run=True).failed()
        assert failed.code == code, failed
        assert ("colour" in failed.message) == ("colour" in str(operation)), failed


def test_what_becomes_of_manifests_can_be_looked_at(engine: LiveEngine, fresh: str) -> None:
    appended(engine, fresh, 3)
    looked = engine.maintain(table(fresh), RewriteManifests(), dry_run=True)
    assert len(snapshots(engine, fresh)) == 3
    assert (looked["rewritten_manifests"], looked["expected_manifests"], looked["rewritten_bytes"] > 0) == (3, 1, True)
    done = engine.maintain(table(fresh), RewriteManifests())
    assert (done["rewritten_manifests"], done["added_manifests"]) == (3, 1)
    looked = engine.maintain(table(fresh), RewriteManifests(), dry_run=True)
    assert (looked["rewritten_manifests"], looked["expected_manifests"]) == (0, 0)


def test_manifests_become_few(engine: LiveEngine, fresh: str) -> None:
    appended(engine, fresh, 3)
    for caching in (False, True):
        engine.run(maintaining(table(fresh), RewriteManifests(caching=caching)))
    assert engine.value(f"SELECT count(*) FROM lake.raw.{fresh}.manifests") == 1
    assert ids(engine, fresh) == list(range(30))
    check(engine, fresh)


@pytest.mark.slow
def test_old_snapshots_go(engine: LiveEngine, fresh: str) -> None:
    appended(engine, fresh, 3)
    engine.run(writing("SELECT 1L AS id, 1L AS part", table(fresh)))
    before = snapshots(engine, fresh)
    assert engine.run(maintaining(table(fresh), Expire()))[0].files == 0  # nothing is five days old
    [report] = engine.run(maintaining(table(fresh), Expire(FAR, retain_last=2)))
    assert snapshots(engine, fresh) == before[-2:]
    [report] = engine.run(maintaining(table(fresh), Expire(snapshot_ids=(before[2],), deletes=2, stream=True)))
    assert (snapshots(engine, fresh), (report.files or 0) > 3) == (before[-1:], True)
    assert engine.fail(maintaining(table(fresh), Expire(snapshot_ids=(before[0],)))).code == "snapshot-not-found"
    assert engine.fail(maintaining(table(fresh), Expire(snapshot_ids=(before[3],)))).code == "snapshot-in-use"
    assert ids(engine, fresh) == [1]
    check(engine, fresh)


@pytest.mark.slow
def test_orphans_go(engine: LiveEngine, fresh: str) -> None:
    appended(engine, fresh, 2)
    mine, deep = orphan(engine, fresh), orphan(engine, fresh, "metadata/deep/orphan.avro")
    dry = engine.run(maintaining(table(fresh), RemoveOrphans(dry_run=True)))
    assert (dry[0].files, mine.exists()) == (0, True)
    [report] = engine.run(maintaining(table(fresh), RemoveOrphans(location="data")))
    assert (report.files, mine.exists(), deep.exists()) == (1, False, True)
    young = orphan(engine, fresh)
    os.utime(young)
    [report] = engine.run(maintaining(table(fresh), RemoveOrphans(deletes=3)))
    assert (report.files, young.exists(), deep.exists()) == (1, True, False)
    for elsewhere in ("/tmp", "../other", str(mine.parents[2])):
        failed = engine.fail(maintaining(table(fresh), RemoveOrphans(location=elsewhere)))
        assert failed.code == "location-outside-table"
    assert "files of the last 24 hours" in str(warnings(engine, maintaining(table(fresh), RemoveOrphans(FAR))))
    assert ids(engine, fresh) == list(range(20))
    check(engine, fresh)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_the_older_line_of_spark_looks_after_tables_too(
    root: Path, start_spark_3: Callable[..., LiveEngine], fresh: str
) -> None:
    older = start_spark_3(lake_depot(root), key="older")
    appended(older, fresh, 3)
    lost = orphan(older, fresh)
    sorting = Rewrite("sort", "id DESC NULLS LAST", clause("id >= 0"), {"rewrite-all": "true"})
    for operation in (sorting, RewriteManifests(), Expire(FAR, deletes=2), RemoveOrphans()):
        assert older.maintain(table(fresh), operation, dry_run=True)["dry_run"]
        older.run(maintaining(table(fresh), operation))
    assert (files(older, fresh), len(snapshots(older, fresh)), lost.exists()) == (1, 1, False)
    parts = Rewrite(properties={"min-input-files": "2", "max-file-group-size-bytes": "2000"})
    appended(older, fresh, 2)
    assert older.maintain(table(fresh), parts)["failed_files"] == 0
    assert len(snapshots(older, fresh)) > 4
    assert ids(older, fresh) == sorted([*range(30), *range(20)])
    check(older, fresh)


@pytest.mark.parametrize("operation", [Rewrite(), RewriteManifests(), Expire(FAR), RemoveOrphans()])
@pytest.mark.slow
def test_a_table_without_rows_is_no_problem(engine: LiveEngine, fresh: str, operation: Any) -> None:
    engine.run(writing("SELECT 1L AS id WHERE false", table(fresh), mode="append"))
    assert engine.maintain(table(fresh), operation, dry_run=True)["dry_run"]
    engine.run(maintaining(table(fresh), operation))
    assert ids(engine, fresh) == []


def aged(*places: Path) -> None:
    """Let every file look old enough to be an orphan."""
    for place in places:
        for file in place.rglob("*"):
            os.utime(file, (0, 0))


@pytest.mark.slow
@pytest.mark.exhaustive
def test_files_of_other_tables_are_no_orphans(engine: LiveEngine, filled: Filled, fresh: str, tmp_path: Path) -> None:
    """Where tables share a directory; whether their rows are committed or only sealed."""
    shared, other, inner = tmp_path / "shared", f"{fresh}b", f"{fresh}c"
    appended(engine, fresh, 2, properties={"write.data.path": str(shared)})
    appended(engine, other, 2, properties={"write.data.path": f"file://{shared}"})
    own = Path(engine.inspect("table", table(fresh))["location"])
    appended(engine, inner, 2, properties={"write.data.path": str(own / "inner")})
    with held(filled.store, other):
        waiting = engine.start_job(writing("SELECT 99L AS id, 0L AS part", table(other), mode="append"))
        await_pending(filled, other, 1)
        lost = [shared / "lost.parquet", own / "inner" / "lost.parquet"]
        for file in lost:
            file.write_text("nobody's")
        aged(shared, own)
        for location, file in zip((str(shared), None), lost, strict=True):
            found = engine.maintain(table(fresh), RemoveOrphans(location=location))
            assert [Path(path.removeprefix("file:")) for path in found["files"]] == [file]
    waiting.done()
    assert (ids(engine, fresh), ids(engine, inner)) == (list(range(20)), list(range(20)))
    assert ids(engine, other) == [*range(20), 99]


def test_nothing_is_removed_while_another_table_cannot_be_read(engine: LiveEngine, fresh: str) -> None:
    appended(engine, fresh, 1)
    appended(engine, f"{fresh}b", 1)
    mine = orphan(engine, fresh)
    metadata = Path(engine.inspect("metadata", table(f"{fresh}b"))["metadata_location"].removeprefix("file:"))
    away = metadata.rename(metadata.with_suffix(".away"))
    try:
        assert engine.start_maintenance(table(fresh), RemoveOrphans()).failed().code == "table-unreadable"
        assert mine.exists()
    finally:
        away.rename(metadata)
    assert engine.maintain(table(fresh), RemoveOrphans())["spared"] == 0
    assert not mine.exists()


@pytest.mark.slow
def test_files_that_have_to_stay_are_not_removed(engine: LiveEngine, fresh: str) -> None:
    appended(engine, fresh, 2)
    mine, before = orphan(engine, fresh), engine.inspect("snapshots", table(fresh))
    engine.ask(f"ALTER TABLE lake.raw.{fresh} SET TBLPROPERTIES ('gc.enabled' = 'false')")
    for operation in (Expire(FAR), RemoveOrphans()):
        for dry_run in (True, False):
            refused = engine.start_maintenance(table(fresh), operation, dry_run=dry_run).failed()
            assert (refused.code, refused.retryable) == ("table-protected", False)
    assert (mine.exists(), engine.inspect("snapshots", table(fresh))) == (True, before)
    assert engine.maintain(table(fresh), Expire(0))["snapshots"] == []


@pytest.mark.slow
def test_an_expiry_removes_the_same_files_in_the_driver_and_in_executors(engine: LiveEngine, fresh: str) -> None:
    """Rewritten and deleted files of old snapshots go; what main, a branch or a tag has stays."""

    def expired(name: str, *, stream: bool) -> tuple[int, dict[str, int]]:
        appended(engine, name, 3)
        engine.change(changing(table(name), "branch_create", branch="side"))
        engine.change(changing(table(name), "tag_create", tag="then"))
        engine.ask(f"ALTER TABLE lake.raw.{name} SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')")
        engine.ask(f"DELETE FROM lake.raw.{name} WHERE id = 3")
        engine.run(maintaining(table(name), Rewrite(properties={"rewrite-all": "true"})))
        removed = engine.maintain(table(name), Expire(FAR, stream=stream))["removed_files"]
        place = Path(engine.inspect("table", table(name))["location"])
        left = Counter(file.suffix for file in place.rglob("*.*") if file.is_file())
        assert ids(engine, name) == [number for number in range(30) if number != 3]
        check(engine, name)
        return removed, dict(left)

    assert expired(fresh, stream=False) == expired(f"{fresh}_again", stream=True)


IN_PARTS = Rewrite(properties={"min-input-files": "2", "max-file-group-input-files": "2"})


def test_a_large_rewrite_is_several_commits(engine: LiveEngine, fresh: str) -> None:
    appended(engine, fresh, 3)  # of two files each
    looked, done = engine.maintain(table(fresh), IN_PARTS, dry_run=True), engine.maintain(table(fresh), IN_PARTS)
    assert (looked["rewritten_files"], looked["expected_files"]) == (6, 3)
    assert (done["rewritten_files"], done["added_files"], done["failed_files"]) == (6, 3, 0)
    operations = [each["operation"] for each in engine.inspect("snapshots", table(fresh))["snapshots"]]
    assert operations == ["append"] * 3 + ["replace"] * 3
    assert ids(engine, fresh) == list(range(30))
    check(engine, fresh)


@pytest.mark.slow
def test_a_part_of_a_rewrite_that_fails_leaves_the_others_done_and_tells_why(engine: LiveEngine, fresh: str) -> None:
    # A partition for each part, so that what is left of one is planned as one again.
    appended(engine, fresh, 2, partitions=(by("identity", "part"),))
    lost = Path(str(engine.value(f"SELECT min(file_path) FROM lake.raw.{fresh}.files")).removeprefix("file:"))
    aside = lost.rename(lost.with_suffix(".aside"))
    assert engine.fail(maintaining(table(fresh), IN_PARTS)).code == "table-file-missing"
    assert files(engine, fresh) == 3
    aside.rename(lost)
    engine.run(maintaining(table(fresh), IN_PARTS))
    assert (files(engine, fresh) <= 2, ids(engine, fresh)) == (True, list(range(20)))
    check(engine, fresh)

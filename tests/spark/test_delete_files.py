"""Position delete files: a compaction leaves none that no data file needs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from catchment.plan.model import Dataset, Partition, Rewrite
from tests.concurrency.invariants import check, ids
from tests.spark.lake import LiveEngine, by, maintaining, table, writing

APPLIED = {"delete-file-threshold": "1", "min-file-size-bytes": "1"}
"""Only the data files that have deletes are rewritten: the others are large enough."""
KEPT = [id for id in range(30) if id not in (10, 20)]


def with_deletes(engine: LiveEngine, name: str, granularity: str) -> Dataset:
    """A table of three data files, two of which have lost a row to position delete files."""
    target = table(name)
    for first in (0, 10, 20):
        engine.run(writing(f"SELECT id FROM range({first}, {first + 10})", target, mode="append"))
    settings = f"'write.delete.mode' = 'merge-on-read', 'write.delete.granularity' = '{granularity}'"
    engine.ask(f"ALTER TABLE {target.identifier} SET TBLPROPERTIES ({settings})")
    engine.ask(f"DELETE FROM {target.identifier} WHERE id IN (10, 20)")
    return target


@pytest.mark.slow
@pytest.mark.parametrize(("granularity", "count"), [("file", 2), ("partition", 1)])
def test_delete_files_go_when_their_data_files_are_rewritten(
    engine: LiveEngine, fresh: str, granularity: str, count: int
) -> None:
    target = with_deletes(engine, fresh, granularity)
    assert engine.health(target).delete_files == count
    done = engine.maintain(target, Rewrite(properties=APPLIED))
    assert (done["rewritten_delete_files"], done["added_delete_files"]) == (count, 0)
    assert engine.health(target).delete_files == 0
    assert ids(engine, fresh) == KEPT
    check(engine, fresh)


@pytest.mark.slow
def test_dangling_deletes_of_another_partition_are_no_reason_to_rewrite_those_of_this_one(
    engine: LiveEngine, fresh: str
) -> None:
    target, deletes = table(fresh), "'write.delete.mode' = 'merge-on-read', 'write.delete.granularity' = 'file'"
    sql, parts = "SELECT id, id % 2 AS part FROM range(0, 10, 1, 1)", (by("identity", "part"),)
    engine.run(writing(sql, target, partitions=parts))
    engine.ask(f"ALTER TABLE {target.identifier} SET TBLPROPERTIES ({deletes})")
    engine.ask(f"DELETE FROM {target.identifier} WHERE id IN (4, 5)")
    applied = "options => map('delete-file-threshold', '1'), where => 'part = 0'"
    engine.ask(f"CALL lake.system.rewrite_data_files(table => 'raw.{fresh}', {applied})")
    large_enough = Rewrite(properties={"min-file-size-bytes": "1", "delete-ratio-threshold": "1"})
    for part, gone in (("1", 0), ("0", 1)):
        done = engine.maintain(target, replace(large_enough, partitions=(Partition({"part": part}),)))
        assert (done["rewritten_delete_files"], done["added_delete_files"]) == (gone, 0)
    assert engine.health(target).delete_files == 1
    assert ids(engine, fresh) == [0, 1, 2, 3, 6, 7, 8, 9]


def test_deletes_that_are_needed_stay_as_they_are(engine: LiveEngine, fresh: str) -> None:
    target = with_deletes(engine, fresh, "partition")
    before = engine.inspect("snapshots", target)
    engine.run(maintaining(target, Rewrite(properties={"min-file-size-bytes": "1", "delete-ratio-threshold": "1"})))
    assert engine.inspect("snapshots", target) == before
    assert (engine.health(target).delete_files, ids(engine, fresh)) == (1, KEPT)

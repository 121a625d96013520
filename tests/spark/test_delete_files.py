"""Position delete files: a compaction leaves none that no data file needs."""

from __future__ import annotations

import pytest

from catchment.plan.model import Dataset, Rewrite
from tests.concurrency.invariants import check, ids
from tests.spark.lake import LiveEngine, maintaining, table, writing

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


def test_deletes_that_are_needed_stay_as_they_are(engine: LiveEngine, fresh: str) -> None:
    target = with_deletes(engine, fresh, "partition")
    before = engine.inspect("snapshots", target)
    engine.run(maintaining(target, Rewrite(properties={"min-file-size-bytes": "1", "delete-ratio-threshold": "1"})))
    assert engine.inspect("snapshots", target) == before
    assert (engine.health(target).delete_files, ids(engine, fresh)) == (1, KEPT)

"""What one writer can rely on, whatever the format."""

from __future__ import annotations

import pytest

from catchment.plan.model import Dataset
from tests.contract.formats.jobs import NOTHING, put, put_sql, whole
from tests.contract.formats.kinds import Kind
from tests.spark.lake import LiveEngine


def test_an_append_adds(kind: Kind, here: LiveEngine, target: Dataset) -> None:
    for mark in ("one", "two"):
        [report] = here.run(put(target, mark, 0, 1, mode="append"))
        assert report.rows == 6
    assert kind.rows(here, target) == whole(one=(0, 1), two=(0, 1))
    kind.check(here, target)


def test_a_full_overwrite_replaces_everything(kind: Kind, here: LiveEngine, target: Dataset) -> None:
    here.run(put(target, "old", 0, 1, None, mode="append"))
    here.run(put(target, "new", 1, mode="overwrite"))
    assert kind.rows(here, target) == whole(new=(1,))
    kind.check(here, target)


def test_a_dynamic_overwrite_touches_only_what_it_produced(kind: Kind, here: LiveEngine, target: Dataset) -> None:
    here.run(put(target, "old", 0, 1, 2, None))
    [report] = here.run(put(target, "new", 1, None, 3))
    assert report.rows == 9
    assert kind.rows(here, target) == whole(old=(0, 2), new=(1, None, 3))
    kind.check(here, target)


@pytest.mark.parametrize(("mode", "kept"), [("append", True), ("overwrite-partitions", True), ("overwrite", False)])
def test_nothing_to_write(kind: Kind, here: LiveEngine, target: Dataset, mode: str, *, kept: bool) -> None:
    here.run(put(target, "old", 0, None))
    nothing = here.start_job(put_sql(target, NOTHING, mode))
    [report] = nothing.done()
    assert (report.rows, report.files) == (0, 0)
    assert kind.rows(here, target) == (whole(old=(0, None)) if kept else [])
    if mode == "overwrite-partitions":
        assert "no partition is replaced" in str([note.data for note in nothing.notes if note.event == "warning"])


@pytest.mark.parametrize("mode", ["append", "overwrite", "overwrite-partitions"])
def test_a_finished_run_changes_nothing_when_it_runs_again(
    kind: Kind, here: LiveEngine, target: Dataset, mode: str
) -> None:
    work, run = put(target, "done", 0, None, mode=mode), f"r-{target.address}"
    first = here.run(work, run=run)
    here.run(put(target, "later", 0, mode="append"))
    again = here.start_job(work, run=run, number=2)
    assert again.done() == first
    assert "already committed" in str([note.data for note in again.notes if note.event == "warning"])
    assert kind.rows(here, target) == whole(done=(0, None), later=(0,))


def test_a_task_that_fails_in_the_middle_changes_nothing(kind: Kind, here: LiveEngine, target: Dataset) -> None:
    here.run(put(target, "old", 0, 1, 2))
    broken = "SELECT IF(id = 8999, raise_error('no more'), id) AS id, 'new' AS mark, CAST(id % 3 AS INT) AS part"
    failed = here.fail(put_sql(target, f"{broken} FROM range(9000)", "overwrite-partitions"))
    assert "no more" in failed.message
    assert kind.rows(here, target) == whole(old=(0, 1, 2))
    kind.check(here, target)


def test_columns_are_added(kind: Kind, here: LiveEngine, target: Dataset) -> None:
    here.run(put_sql(target, "SELECT 1L AS id, 'old' AS mark, 0 AS part", "append"))
    for id, column in ((2, "extra"), (3, "other")):  # no file has both
        added = f"SELECT {id}L AS id, 'new' AS mark, 'more' AS {column}, 0 AS part"
        here.run(put_sql(target, added, "append", merge_schema=True))
    found = [(1, "old", None, None), (2, "new", "more", None), (3, "new", None, "more")]
    assert kind.rows(here, target, "id, mark, extra, other") == found


def test_the_way_back(kind: Kind, here: LiveEngine, target: Dataset) -> None:
    [first] = here.run(put(target, "old", 0, 1))
    here.run(put(target, "new", 1))
    assert first.snapshot_id is not None
    then = f"SELECT id, mark, part FROM {kind.relation(target)} VERSION AS OF {first.snapshot_id} ORDER BY ALL"
    assert here.rows(then) == whole(old=(0, 1))

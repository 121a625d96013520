"""Files of Delta tables are merged along a z-order, and rewritten without their deletion vectors."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from deltalake import DeltaTable

from catchment.formats.registry import traits_of
from catchment.plan.model import Dataset, Partition, Rewrite
from catchment.run.compaction.compactor import APPLY_DELETES, WORTH_IT
from tests.matrices import exhaustive
from tests.spark.lake import LENIENT, SMALL, LiveEngine, by, clause, maintaining, writing

pytestmark = pytest.mark.slow
VECTORS = {"delta.enableDeletionVectors": "true"}
LARGE_ENOUGH = {"min-file-size-bytes": "1"}


def test_files_are_merged_along_a_z_order(here: LiveEngine, target: Dataset) -> None:
    for number in range(3):
        sql = f"SELECT {number}L AS a, {9 - number}L AS b"
        here.run(writing(sql, target, name=f"w{number}", mode="append"))
    here.run(maintaining(target, Rewrite("sort", "zorder(a, b)")))
    newest = here.inspect("snapshots", target)["snapshots"][-1]
    assert newest["operation"] == "optimize"
    assert len(here.inspect("files", target)["files"]) == 1
    assert sorted(here.rows(f"SELECT a, b FROM {target.identifier}")) == [(0, 9), (1, 8), (2, 7)]
    assert here.fail(maintaining(target, Rewrite("sort", "a DESC"))).code == "unsupported-option"


@pytest.mark.parametrize("line", ["4.1", *exhaustive("3.5")])
def test_files_become_as_large_as_the_table_says(request: pytest.FixtureRequest, target: Dataset, line: str) -> None:
    engine = request.getfixturevalue("here") if line == "4.1" else request.getfixturevalue("start_spark_3")()
    for number in range(6):
        engine.run(writing(f"SELECT {number}L AS id", target, name=f"w{number}", mode="append"))
    [size] = {each["bytes"] for each in engine.inspect("files", target)["files"]}
    # Delta itself does not know this property, nor does it accept it; tables that others write have it.
    says = {"delta.targetFileSize": str(int(2.5 * size))}
    DeltaTable(str(target.path)).alter.set_table_properties(says, raise_if_not_exists=False)
    assert engine.health(target).target_file_bytes == int(2.5 * size)
    looked = engine.maintain(target, Rewrite(), dry_run=True)
    assert (looked["rewritten_files"], looked["expected_files"]) == (6, 3)
    assert engine.maintain(target, Rewrite())["added_files"] == 3
    larger = Rewrite(properties={"target-file-size-bytes": str(100 * size)})
    assert engine.maintain(target, larger)["added_files"] == 1
    assert engine.value(f"SELECT sum(id) FROM {target.identifier}") == 15


def as_the_compactor_asks() -> Mapping[str, str]:
    """The properties of a compaction of files that are all large enough, where rows were deleted."""
    asked = {**WORTH_IT, **LARGE_ENOUGH, **APPLY_DELETES}
    return {key: value for key, value in asked.items() if key in traits_of("delta").rewrite_options}


def with_vectors(engine: LiveEngine, target: Dataset, *deleted: int) -> None:
    """Make a table of three files with a hundred rows each, and delete single rows."""
    for first in (0, 100, 200):
        sql = f"SELECT id FROM range({first}, {first + 100}, 1, 1)"
        engine.run(writing(sql, target, name=f"w{first}", mode="append", properties=VECTORS))
    for id in deleted:
        engine.ask(f"DELETE FROM {target.identifier} WHERE id = {id}")
    assert engine.health(target).delete_files == len(deleted)


@pytest.mark.parametrize("line", ["4.1", "3.5"])
@pytest.mark.parametrize(("deleted", "rewritten"), [((7,), 1), ((7, 107), 2)], ids=["one file", "two files"])
def test_files_that_have_lost_a_row_are_rewritten_whatever_their_size(
    request: pytest.FixtureRequest, target: Dataset, line: str, deleted: tuple[int, ...], rewritten: int
) -> None:
    engine = request.getfixturevalue("here") if line == "4.1" else request.getfixturevalue("start_spark_3")()
    with_vectors(engine, target, *deleted)
    asked = Rewrite(properties=as_the_compactor_asks())
    assert engine.maintain(target, asked, dry_run=True)["rewritten_files"] == rewritten
    assert engine.maintain(target, asked)["rewritten_files"] == rewritten
    after = engine.health(target)
    assert (after.delete_files, after.files, after.last_compaction is not None) == (0, 4 - rewritten, True)
    assert engine.value(f"SELECT count(*) FROM {target.identifier}") == 300 - len(deleted)
    assert engine.value(f"SELECT sum(id) FROM {target.identifier}") == sum(range(300)) - sum(deleted)
    newest = after.head
    assert engine.maintain(target, asked)["rewritten_files"] == 0
    assert engine.health(target).head == newest


def test_vectors_of_other_partitions_are_no_reason_to_rewrite_anything(here: LiveEngine, target: Dataset) -> None:
    sql = "SELECT id, CAST(id % 2 AS INT) AS part, 'gone' AS gone FROM range(0, 10, 1, 1)"
    properties = {**VECTORS, "delta.columnMapping.mode": "name"}
    here.run(writing(sql, target, mode="append", partitions=(by("identity", "part"),), properties=properties))
    here.ask(f"ALTER TABLE {target.identifier} DROP COLUMN gone")  # what is rewritten for the vectors loses it, too
    here.ask(f"DELETE FROM {target.identifier} WHERE id = 4")
    asked = Rewrite(properties=as_the_compactor_asks())
    before = here.health(target)
    for other in (replace(asked, partitions=(Partition({"part": "1"}),)), replace(asked, condition=clause("part = 1"))):
        assert here.maintain(target, other)["rewritten_files"] == 0
    assert here.health(target).head == before.head
    assert here.maintain(target, replace(asked, condition=clause("part < 1")))["rewritten_files"] == 1
    after = here.health(target)
    assert (after.files, after.delete_files) == (before.files, 0)


def test_a_threshold_that_no_file_reaches_is_refused(here: LiveEngine, target: Dataset) -> None:
    with_vectors(here, target, 7)
    never = Rewrite(properties={"delete-file-threshold": "2"})
    assert here.start_maintenance(target, never).failed().code == "threshold-never-met"


def test_a_damaged_file_stays_in_the_table(start_engine: Callable[..., LiveEngine], target: Dataset) -> None:
    engine = start_engine(conf={**SMALL, **LENIENT})
    with_vectors(engine, target)
    damaged, *_ = (Path(each["path"]) for each in engine.inspect("files", target)["files"])
    os.truncate(damaged, damaged.stat().st_size // 2)
    before = engine.inspect("files", target)
    refused = engine.start_maintenance(target, Rewrite()).failed()
    assert (refused.code, damaged.name in refused.message) == ("input-damaged", True)
    assert engine.inspect("files", target) == before

"""How many files of a table a task fills at once: each takes memory of the engine until it is closed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from catchment.plan.model import Dataset, PartitionField, Sort
from catchment.project.model import Settings
from catchment.spec.model import SortColumn
from tests.concurrency.waiting import until
from tests.ledgers import Filled
from tests.spark.lake import LiveEngine, by, job, lake_depot, merging, output, step, table, writing

PARTS = 20
ROWS = f"SELECT id, concat('part ', pmod(hash(id), {PARTS})) AS part FROM range(2000)"
SPEC = (by("identity", "part"),)
FANOUT = "write.spark.fanout.enabled"


def one_after_the_other(engine: LiveEngine, name: str) -> bool:
    """Whether each task closed its files in the order in which it began them.

    A task numbers files as it begins them, and the table lists them as they were closed. Those that were open together
    are closed in the order of a hash table, which twenty files do not share by chance.
    """
    found = [Path(row[0]) for row in engine.rows(f"SELECT file_path FROM lake.raw.{name}.files")]
    tasks: dict[str, list[str]] = {}
    for task, number in (file.stem.rsplit("-", 1) for file in found):
        tasks.setdefault(task, []).append(number)
    return all(numbers == sorted(numbers) for numbers in tasks.values())


@pytest.mark.parametrize(
    "more",
    [
        {"mode": "append"},
        {"mode": "overwrite"},
        {"mode": "overwrite-partitions"},
        {"mode": "append", "commit": "direct"},
        {"mode": "append", "sort": Sort("partition", (SortColumn("id", descending=True),))},
        {"mode": "append", "sort": Sort("global", (SortColumn("id"),)), "commit": "direct"},
    ],
    ids=["append", "overwrite", "overwrite-partitions", "direct", "sorted", "sorted-directly"],
)
def test_partitions_are_written_one_after_the_other(engine: LiveEngine, fresh: str, more: dict[str, Any]) -> None:
    [report] = engine.run(writing(ROWS, table(fresh), partitions=SPEC, **more))
    assert (report.rows, report.files) == (2000, PARTS)
    assert one_after_the_other(engine, fresh)


@pytest.mark.parametrize(
    "more",
    [
        {"options": {"Fanout-Enabled": "true"}},
        {"options": {"fanout-enabled": "true"}, "commit": "direct"},
        {"properties": {FANOUT: "true"}},
        {"properties": {FANOUT: "true"}, "commit": "direct"},
        {"options": {"use-table-distribution-and-ordering": "false"}},
        {"options": {"output-spec-id": "0"}},
    ],
    ids=["option", "option-direct", "property", "property-direct", "rows-as-they-come", "another-spec"],
)
def test_whoever_asks_for_it_fills_them_all_at_once(engine: LiveEngine, fresh: str, more: dict[str, Any]) -> None:
    [report] = engine.run(writing(ROWS, table(fresh), mode="append", partitions=SPEC, **more))
    assert report.rows == 2000
    assert not one_after_the_other(engine, fresh)


@pytest.mark.parametrize(
    ("parts", "spec", "sorted_first"),
    [(12, by("month", "at"), False), (20, by("identity", "part"), False), (150, by("bucket", "part", 150), True)],
)
@pytest.mark.parametrize("commit", ["buffered", "direct"])
@pytest.mark.slow
def test_a_few_partitions_are_filled_at_once_and_many_one_after_the_other(
    engine: LiveEngine, fresh: str, parts: int, spec: PartitionField, sorted_first: bool, commit: str
) -> None:
    sql = f"""SELECT id, concat('part ', pmod(hash(id), {parts})) AS part,
        add_months(date'2026-01-01', CAST(pmod(hash(id), {parts}) AS INT)) AS at FROM range(4000)"""
    out = output("rows", table(fresh), mode="append", partitions=(spec,), commit=commit)
    work = job(out, steps=[step("rows", sql)], conf={"spark.sql.shuffle.partitions": "200"})
    assert engine.run(work)[0].rows == 4000
    assert engine.value(f"SELECT count(DISTINCT id) FROM lake.raw.{fresh}") == 4000
    assert one_after_the_other(engine, fresh) is sorted_first


@pytest.mark.parametrize("sort", [None, Sort("partition", (SortColumn("id"),))])
def test_partitions_that_a_sort_does_not_tell_apart(engine: LiveEngine, fresh: str, sort: Sort | None) -> None:
    rows = "SELECT id, CAST(concat(IF(id % 2 = 0, '', '-'), '0.0') AS DOUBLE) AS part FROM range(0, 10, 1, 1)"
    [report] = engine.run(writing(rows, table(fresh), mode="append", partitions=SPEC, sort=sort))
    assert (report.rows, report.files) == (10, 2)


def test_a_merge_goes_by_the_property_of_the_table(engine: LiveEngine, fresh: str) -> None:
    insert = "NOT MATCHED THEN INSERT *"
    engine.run(writing(ROWS, table(fresh), mode="append", partitions=SPEC, properties={FANOUT: "false"}))
    engine.run(merging(ROWS.replace("id,", "id + 2000 AS id,"), table(fresh), "old.id = new.id", insert))
    assert engine.value(f"SELECT count(*) FROM lake.raw.{fresh}") == 4000
    assert one_after_the_other(engine, fresh)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_rows_are_sorted_anew_where_the_partitions_have_changed_meanwhile(
    start_engine: Callable[..., LiveEngine], filled: Filled, root: Path, fresh: str
) -> None:
    target, sort = table(fresh), Sort("partition", (SortColumn("id"),))
    busy = start_engine(lake_depot(root), settings=Settings(max_pending=1))
    busy.run(writing(ROWS, target, mode="append", partitions=SPEC))
    lease = filled.store.leases.acquire(f"table/{target.address}", "somebody who takes his time", 600.0)
    sealed = busy.start_job(writing(ROWS, target, mode="append"))
    await_pending(filled, target)
    waiting = busy.start_job(writing(ROWS, target, mode="append", sort=sort))
    assert "max_pending is 1" in waiting.wait_for("warning").data["message"]
    busy.ask(f"ALTER TABLE {target.identifier} REPLACE PARTITION FIELD part WITH bucket({PARTS}, id)")
    filled.store.leases.release(lease)
    assert [each.done()[0].rows for each in (sealed, waiting)] == [2000, 2000]
    assert busy.value(f"SELECT count(*) FROM {target.identifier}") == 6000
    assert one_after_the_other(busy, fresh)


def await_pending(filled: Filled, target: Dataset) -> None:
    until(lambda: filled.ledger.count_pending(target.address) >= 1)

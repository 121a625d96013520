"""Compaction, whatever the format: fewer files, the same rows, and writers that neither fail nor wait."""

from __future__ import annotations

from pathlib import Path
from threading import Event, Thread

import pytest

from catchment.engine.protocol import Failed
from catchment.formats.registry import traits_of
from catchment.plan.model import Dataset, Partition, Rewrite
from catchment.table_health import TableHealth
from tests.contract.formats.jobs import put, whole
from tests.contract.formats.kinds import Kind
from tests.disks import read_only
from tests.ledgers import Filled
from tests.spark.lake import LiveEngine

MARKS = tuple("abcde")
"""As many appends as make a rewrite worthwhile."""


def appended(here: LiveEngine, target: Dataset) -> list[tuple[int, str, int | None]]:
    """Write small files into three partitions; returns the rows."""
    for mark in MARKS:
        here.run(put(target, mark, 0, 1, None, mode="append"))
    return whole(**dict.fromkeys(MARKS, (0, 1, None)))


def counts(found: TableHealth) -> dict[str | None, int]:
    """The number of files by partition."""
    return {dict(each.partition or {})["part"]: each.files for each in found.partitions}


def test_compaction_makes_few_files_of_many_and_keeps_every_row(kind: Kind, here: LiveEngine, target: Dataset) -> None:
    rows = appended(here, target)
    before = here.health(target)
    many = counts(before)["0"]  # tasks of one write may have a file each
    assert many >= len(MARKS)
    assert counts(before) == {"0": many, "1": many, None: many}
    assert (before.files, before.small_files, before.partition_count) == (3 * many, 3 * many, 3)
    assert before.last_compaction is None
    assert all(each.changed for each in before.partitions)

    one = Rewrite(partitions=(Partition({"part": "0"}), Partition({"part": None})))
    planned = here.maintain(target, one, dry_run=True)
    assert (planned["rewritten_files"], planned["expected_files"]) == (2 * many, 2)
    done = here.maintain(target, one)
    assert (done["rewritten_files"], done["added_files"]) == (2 * many, 2)
    after = here.health(target)
    assert counts(after) == {"0": 1, "1": many, None: 1}
    assert after.last_compaction is not None
    assert kind.rows(here, target) == rows

    here.maintain(target, Rewrite())
    assert counts(here.health(target)) == {"0": 1, "1": 1, None: 1}
    assert here.maintain(target, Rewrite())["rewritten_files"] == 0
    here.run(put(target, "new", 1))
    assert kind.rows(here, target) == whole(**dict.fromkeys(MARKS, (0, None)), new=(1,))
    kind.check(here, target)


@pytest.mark.parametrize(
    ("partition", "code"),
    [
        ({"colour": "red"}, "unknown-partition-column"),
        ({}, "partition-incomplete"),
    ],
)
def test_partitions_that_cannot_be(
    kind: Kind, here: LiveEngine, target: Dataset, partition: dict[str, str | None], code: str
) -> None:
    here.run(put(target, "old", 0))
    for dry_run in (False, True):
        refused = here.start_maintenance(target, Rewrite(partitions=(Partition(partition),)), dry_run=dry_run).answer()
        assert isinstance(refused, Failed)
        assert refused.code == code
    assert kind.rows(here, target) == whole(old=(0,))


@pytest.mark.slow
def test_what_may_not_be_written_stays_as_it_is(kind: Kind, here: LiveEngine, target: Dataset) -> None:
    rows = appended(here, target)
    is_files = not traits_of(kind.name).is_table  # their stage lies beside them
    place = Path(str(target.path)).parent if is_files else Path(here.inspect("table", target)["location"])
    before = file_sizes(place)
    with read_only(place):
        refused = here.start_maintenance(target, Rewrite()).failed()
        assert (refused.code, refused.retryable, bool(refused.hint)) == ("no-permission", False, True)
        assert kind.rows(here, target) == rows
    assert file_sizes(place) == before
    assert here.maintain(target, Rewrite())["added_files"] == 3
    assert kind.rows(here, target) == rows
    kind.check(here, target)


def file_sizes(place: Path) -> dict[str, int]:
    """The sizes of all files below a directory."""
    return {str(each.relative_to(place)): each.stat().st_size for each in place.rglob("*") if each.is_file()}


def test_a_compaction_needs_nothing_that_writers_wait_for(
    kind: Kind, here: LiveEngine, ledger: Filled, target: Dataset
) -> None:
    """Whoever holds the table's lease commits; a compaction neither waits for it nor keeps anybody from it."""
    assert traits_of(kind.name).is_table  # plain files are swapped under the lease, and would wait for it here
    rows = appended(here, target)
    place = here.inspect("table", target)["location"] if kind.name == "paimon" else target.path or target.address
    lease = ledger.store.leases.acquire(f"table/{place}", "a writer who takes his time", 600.0)
    try:
        done = here.maintain(target, Rewrite(partitions=(Partition({"part": "0"}),)))
    finally:
        ledger.store.leases.release(lease)
    assert done["added_files"] == 1
    assert kind.rows(here, target) == rows


@pytest.mark.slow
def test_writers_go_on_while_others_compact(
    kind: Kind, here: LiveEngine, there: LiveEngine, ledger: Filled, target: Dataset
) -> None:
    appended(here, target)
    there.maintain(target, Rewrite())
    done, compactions = Event(), list[int]()

    def compact() -> None:
        while not done.is_set():
            compactions.append(int(there.maintain(target, Rewrite())["rewritten_files"]))

    compacting = Thread(target=compact)
    compacting.start()
    try:
        for number in range(8):
            sent = [
                here.start_job(put(target, f"a{number}", 0, mode="append")),
                here.start_job(put(target, f"b{number}", 0, None, mode="append")),
                here.start_job(put(target, f"r{number}", 1, mode="overwrite-partitions")),
            ]
            for pending in sent:
                pending.done()
    finally:
        done.set()
        compacting.join()
    there.maintain(target, Rewrite())
    assert any(compactions)
    added = {f"a{number}": (0,) for number in range(8)} | {f"b{number}": (0, None) for number in range(8)}
    assert kind.rows(here, target) == whole(**dict.fromkeys(MARKS, (0, None)), **added, r7=(1,))
    kind.check(here, target)

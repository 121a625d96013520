"""One catalog that two projects with one metastore call by different names; within a project that is refused."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from catchment.errors import EngineLost
from catchment.plan.model import JobPlan, RemoveOrphans
from catchment.project.model import Catalog, Depot
from catchment.store import open_store
from tests.concurrency.invariants import check, ids
from tests.concurrency.waiting import worker_of
from tests.ledgers import Filled, end_leases
from tests.spark.lake import LiveEngine, job, maintaining, output, step, table, writing
from tests.spark.overtaking import at_gate, gate

FAR = 4_000_000_000_000
"""A moment that is still to come, in milliseconds."""
Start = Callable[..., LiveEngine]


def named(tmp_path: Path, name: str) -> Depot:
    """A depot of this name over the one catalog."""
    return Depot(name, "iceberg", str(tmp_path / "shared"), Catalog("hadoop"))


def append(number: int, depot: str) -> JobPlan:
    return writing(f"SELECT {number}L AS id", table("t", depot), name=f"from-{number}", mode="append")


@pytest.mark.slow
@pytest.mark.exhaustive
def test_what_is_sealed_under_one_name_survives_maintenance_under_the_other(
    start_engine: Start, tmp_path: Path
) -> None:
    first, second = (start_engine(named(tmp_path, name), key=name) for name in ("first", "second"))
    first.run(append(1, "first"))
    victim = start_engine(named(tmp_path, "first"), key="victim", fault="sealed:kill")
    assert isinstance(victim.start_job(append(2, "first"), run="r").answer(), EngineLost)
    with open_store(f"sqlite:///{tmp_path}/metastore.db") as store:
        end_leases(store, worker_of(victim))
        sealed = Path(Filled(store).find("r/from-2/out").intent.buffer.removeprefix("file:"))
    for file in sealed.glob("*"):
        os.utime(file, (0, 0))  # as old as can be

    pending = second.start_job(append(3, "second"))
    pending.done()
    assert [note for note in pending.notes if note.event == "warning"] == []
    second.run(maintaining(table("t", "second"), RemoveOrphans(FAR)))
    assert list(sealed.glob("*.parquet"))

    first.run(append(4, "first"))
    assert ids(second, "t", "second") == [1, 2, 3, 4]
    check(second, "t", "second")


@pytest.mark.slow
def test_a_catalog_with_one_writer_has_one_under_all_its_names(start_engine: Start, tmp_path: Path) -> None:
    first, second = (start_engine(named(tmp_path, name), key=name) for name in ("first", "second"))
    first.run(append(1, "first"))
    target = table("t", "first")
    slow = [gate(target), step("rows", "SELECT seen AS id FROM gate")]
    writing_now = first.start_job(job(output("rows", target, mode="append"), steps=slow, name="slow"))
    with at_gate(first, target):
        assert second.fail(append(2, "second")).code == "second-writer"
    writing_now.done()
    second.run(append(3, "second"))
    assert len(ids(first, "t", "first")) == 3

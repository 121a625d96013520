"""A table that is dropped is gone, and its name is free."""

from __future__ import annotations

from catchment.plan.model import Dataset
from tests.contract.formats.jobs import put, whole
from tests.contract.formats.kinds import Kind
from tests.spark.lake import LiveEngine


def test_a_dropped_table_is_gone_and_its_name_is_free(kind: Kind, here: LiveEngine, target: Dataset) -> None:
    work, run = put(target, "old", 0, 1, mode="append"), f"r-{target.address}"
    here.run(work, run=run)
    looked = here.drop(target, dry_run=True)
    assert (looked["rows"], looked["dropped"]) == (6, False)
    assert kind.rows(here, target) == whole(old=(0, 1))
    assert here.drop(target) == {**looked, "dropped": True, "dry_run": False}
    assert here.start_drop(target).failed().code == "table-not-found"
    here.run(put(target, "new", 2, mode="append"))
    assert kind.rows(here, target) == whole(new=(2,))
    again = here.start_job(work, run=run, number=2)  # its rows were written once, and somebody has dropped them
    again.done()
    assert "already committed" in str([note.data for note in again.notes if note.event == "warning"])
    assert kind.rows(here, target) == whole(new=(2,))
    kind.check(here, target)


def test_a_table_that_has_taken_the_name_of_another_stays(kind: Kind, here: LiveEngine, target: Dataset) -> None:
    here.run(put(target, "old", 0, mode="append"))
    shown = here.drop(target, dry_run=True)["table_id"]
    here.run(put(target, "more", 1, mode="append"))
    assert here.drop(target, dry_run=True)["table_id"] == shown
    here.drop(target, expected=shown)
    here.run(put(target, "new", 2, mode="append"))
    assert here.start_drop(target, expected=shown).failed().code == "table-replaced"
    assert kind.rows(here, target) == whole(new=(2,))
    kind.check(here, target)

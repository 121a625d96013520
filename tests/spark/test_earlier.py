"""Attempts after the first: what is committed is not computed again, and whoever goes on with other data says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from catchment.plan.model import InputPlan, JobPlan
from tests.concurrency.invariants import ids
from tests.ledgers import Filled
from tests.spark.lake import HERE, LiveEngine, Pending, files, job, output, table, writing

OTHER = "SELECT 'text' AS id, 1 AS more"


def copying(source: InputPlan, name: str, **more: Any) -> JobPlan:
    """A job that writes one input to two tables."""
    outputs = (output("src", table(f"{name}_{n}"), name=n, mode="append", **more) for n in ("first", "second"))
    return job(*outputs, inputs=[source])


def fill(engine: LiveEngine, name: str, first: int) -> None:
    engine.run(writing(f"SELECT id FROM range({first}, {first + 5})", table(f"{name}_src"), mode="append"))


def moves(pending: Pending) -> list[dict[str, Any]]:
    """The warnings about inputs that moved, as programs see them."""
    return [dict(note.data) for note in pending.notes if note.data.get("code") == "inputs-moved"]


@pytest.mark.parametrize("commit", ["buffered", "direct"])
@pytest.mark.slow
def test_only_the_missing_output_is_written_and_a_moved_input_is_named(
    engine: LiveEngine, fresh: str, commit: str
) -> None:
    fill(engine, fresh, 0)
    engine.run(writing(OTHER, table(f"{fresh}_second")))
    both = copying(InputPlan("src", table(f"{fresh}_src"), HERE), fresh, commit=commit)
    assert engine.fail(both, run=f"r-{fresh}").code == "schema-mismatch"
    assert ids(engine, f"{fresh}_first") == list(range(5))
    then = engine.value(f"SELECT snapshot_id FROM lake.raw.{fresh}_src.snapshots")

    still = engine.start_job(both, run=f"r-{fresh}", number=2)
    assert still.failed().code == "schema-mismatch"
    assert moves(still) == []

    engine.ask(f"DROP TABLE lake.raw.{fresh}_second")
    fill(engine, fresh, 5)
    again = engine.start_job(both, run=f"r-{fresh}", number=3)
    assert [report.rows for report in again.done()] == [5, 10]
    assert ids(engine, f"{fresh}_first") == list(range(5))
    assert ids(engine, f"{fresh}_second") == list(range(10))
    [moved] = moves(again)
    now = engine.value(f"SELECT snapshot_id FROM lake.raw.{fresh}_src.refs WHERE name = 'main'")
    assert (moved["input"], moved["then"], moved["now"]) == ("src", f"snapshot {then}", f"snapshot {now}")
    assert "output first" in moved["message"]
    assert "missing outputs (second)" in moved["message"]


def test_a_moved_input_of_files_is_told_too(engine: LiveEngine, tmp_path: Path, fresh: str) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "1.json").write_text('{"id": 1}')
    engine.run(writing(OTHER, table(f"{fresh}_second")))
    both = copying(InputPlan("src", files(tmp_path / "src", "json"), HERE), fresh)
    engine.fail(both, run=f"r-{fresh}")
    (tmp_path / "src" / "2.json").write_text('{"id": 2}')
    engine.ask(f"DROP TABLE lake.raw.{fresh}_second")
    again = engine.start_job(both, run=f"r-{fresh}", number=2)
    again.done()
    [moved] = moves(again)
    assert (moved["then"], moved["now"]) == ("1 files of 9 bytes", "2 files of 18 bytes")


def test_a_job_whose_writes_are_all_committed_reads_nothing(
    engine: LiveEngine, filled: Filled, tmp_path: Path, fresh: str
) -> None:
    source = tmp_path / "src.json"
    source.write_text('{"id": 1}')
    both = copying(InputPlan("src", files(source, "json"), HERE), fresh)
    reports = engine.run(both, run=f"r-{fresh}")
    buffers = [filled.find(report.write_id).intent.buffer for report in reports]
    source.unlink()  # whoever computed it again would miss it
    again = engine.start_job(both, run=f"r-{fresh}", number=2)
    assert again.done() == reports
    assert {note.event for note in again.notes} <= {"warning", "output", "progress"}
    assert [filled.find(report.write_id).intent.buffer for report in reports] == buffers
    assert ids(engine, f"{fresh}_first") == ids(engine, f"{fresh}_second") == [1]
    assert engine.fail(both).code == "input-not-found"

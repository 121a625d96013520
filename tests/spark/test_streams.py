"""Jobs that read streams: every row is written once, through the same commits as every other write."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from catchment.plan.model import Merge
from catchment.run_model import began_millis
from catchment.spec.model import Sort, SortColumn
from tests.concurrency.invariants import check, ids
from tests.ledgers import Filled
from tests.spark.lake import HERE, LiveEngine, by, clause, delta_table, files, output, reading, step, table, writing
from tests.spark.streaming import arrive, arriving, following, streaming, told

ONE_FILE = {"maxFilesPerTrigger": "1"}


@pytest.mark.slow
def test_each_run_writes_what_has_arrived_since_the_one_before(
    engine: LiveEngine, root: Path, fresh: str, filled: Filled
) -> None:
    source = arriving(root, fresh, **ONE_FILE)
    arrive(root, fresh, range(1, 4))
    arrive(root, fresh, range(4, 6))
    pending = engine.start_job(streaming(root, fresh, source))
    [report] = pending.done()
    assert (report.rows, ids(engine, fresh)) == (5, [1, 2, 3, 4, 5])
    last = told(pending, "batch")[-1]
    assert (last["name"], last["batch"], last["rows"]) == ("rows", 1, 2)
    assert not told(pending, "writing")  # an endless stream would never stop telling
    assert engine.run(streaming(root, fresh, source)) == ()
    arrive(root, fresh, [6])
    [report] = engine.run(streaming(root, fresh, source))
    assert (report.rows, ids(engine, fresh)) == (1, [1, 2, 3, 4, 5, 6])
    check(engine, fresh)
    entry = filled.find(report.write_id)
    identity, job, name = report.write_id.split("/")
    assert (entry.state, job, name, identity.rsplit("-", 1)[1]) == ("committed", fresh, "out", "2")
    assert began_millis(identity) > 0


def test_a_batch_goes_through_the_buffer_together_with_other_writers(
    engine: LiveEngine, root: Path, fresh: str, filled: Filled
) -> None:
    engine.run(writing("select 0L id, 'd0' day", table(fresh), mode="append"))
    source = arriving(root, fresh)
    arrive(root, fresh, [1, 2])
    [report] = engine.run(streaming(root, fresh, source))
    assert filled.find(report.write_id).intent.buffered
    assert ids(engine, fresh) == [0, 1, 2]


@pytest.mark.slow
def test_tables_are_streams_too(engine: LiveEngine, root: Path, fresh: str) -> None:
    lake, log = table(f"{fresh}_lake"), delta_table(f"{fresh}_log", root)
    for dataset in (lake, log):
        for first in (1, 3):
            rows = f"select id, 'd1' day from range({first}, {first + 2})"
            engine.run(writing(rows, dataset, mode="append"))
        name = f"{fresh}_{dataset.format}"
        assert engine.run(streaming(root, name, following(dataset)))[0].rows == 4
        engine.run(writing("select 5L id, 'd1' day", dataset, mode="append"))
        assert engine.run(streaming(root, name, following(dataset)))[0].rows == 1
        assert ids(engine, name) == [1, 2, 3, 4, 5]


@pytest.mark.slow
def test_a_stream_of_a_table_tells_how_many_commits_are_still_to_be_read(
    engine: LiveEngine, root: Path, fresh: str
) -> None:
    for dataset in (table(fresh), delta_table(fresh, root)):
        engine.run(writing("select 1L id, 'd1' day", dataset, mode="append"))
        to_itself = output("rows", dataset, mode="append")
        for name, outputs, behind in (("itself", (to_itself,), 1), ("other", (), 0)):
            pending = engine.start_job(
                streaming(root, f"{fresh}_{dataset.format}_{name}", following(dataset), *outputs)
            )
            pending.done()
            assert told(pending, "batch")[-1]["lag"] == {"commitsBehindLatest": behind}, (dataset.format, name)


@pytest.mark.slow
def test_several_outputs_get_every_batch(engine: LiveEngine, root: Path, fresh: str) -> None:
    source = arriving(root, fresh, **ONE_FILE)
    log, plain = delta_table(fresh, root), files(root / "drop" / f"{fresh}_out", "parquet")
    merge: Any = {"mode": "overwrite-partitions", "partitions": (by("identity", "day"),)}
    outputs = (
        output("rows", table(fresh), mode="append", name="lake"),
        output("rows", log, mode="append", name="log"),
        output("even", plain, mode="append", name="plain"),
        output("rows", table(f"{fresh}_days"), name="days", **merge),
    )
    even = step("even", "select id from rows where id % 2 = 0")
    arrive(root, fresh, [1, 2], day="d1")
    arrive(root, fresh, [3, 4], day="d2")
    reports = engine.run(streaming(root, fresh, source, *outputs, steps=[even]))
    assert {each.name: each.rows for each in reports} == {"lake": 4, "log": 4, "plain": 2, "days": 4}
    assert ids(engine, fresh) == ids(engine, f"{fresh}_days") == [1, 2, 3, 4]
    assert engine.rows(f"select id from delta.`{log.path}` order by id") == [(1,), (2,), (3,), (4,)]
    assert engine.rows(f"select id from parquet.`{plain.path}` order by id") == [(2,), (4,)]


@pytest.mark.slow
def test_a_stream_can_be_joined_merged_and_aggregated(engine: LiveEngine, root: Path, fresh: str) -> None:
    source = arriving(root, fresh, **ONE_FILE)
    arrive(root, fresh, [1, 2], day="d1")
    arrive(root, fresh, [3], day="d2")
    engine.run(writing("select 'd1' day, 'Monday' name union all select 'd2', 'Tuesday'", table(f"{fresh}_names")))
    sql = "select day, name, count(*) rows from source join names using (day) group by day, name"
    complete = output("rows", table(fresh), mode="overwrite")
    counting = streaming(root, fresh, source, complete, sql=sql, output_mode="complete")
    counting = replace(counting, inputs=(*counting.inputs, reading("names", table(f"{fresh}_names"))))
    engine.run(counting)
    arrive(root, fresh, [4], day="d2")
    engine.run(counting)
    where = f"`lake`.raw.{fresh}"
    assert engine.rows(f"select * from {where} order by day") == [("d1", "Monday", 2), ("d2", "Tuesday", 2)]
    changed = replace(counting, steps=(step("rows", sql.replace("count(*)", "count(*) + 1")), *counting.steps[1:]))
    assert engine.fail(changed).code == "stream-changed"


@pytest.mark.slow
def test_the_changed_rows_of_a_result_are_merged(engine: LiveEngine, root: Path, fresh: str) -> None:
    by_day = Merge(
        clause("old.day = new.day"), clause("MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"), HERE
    )
    targets = (table(fresh), delta_table(fresh, root))
    outputs = [output("rows", each, mode="merge", merge=by_day, name=each.format) for each in targets]
    sql = "select day, count(*) n from source group by day"
    counting = streaming(root, fresh, arriving(root, fresh, **ONE_FILE), *outputs, sql=sql, output_mode="update")
    arrive(root, fresh, [1, 2], day="d1")
    arrive(root, fresh, [3], day="d2")
    assert [report.rows for report in engine.run(counting)] == [2, 2]
    arrive(root, fresh, [4], day="d2")
    assert [report.rows for report in engine.run(counting)] == [1, 1]  # d1 has not changed
    for target in targets:
        assert engine.rows(f"select day, n from {target.identifier} order by day") == [("d1", 2), ("d2", 2)]


def test_merges_run_per_batch(engine: LiveEngine, root: Path, fresh: str) -> None:
    merge = Merge(clause("old.id = new.id"), clause("MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"), HERE)
    source = arriving(root, fresh, **ONE_FILE)
    arrive(root, fresh, [1, 2], day="d1")
    arrive(root, fresh, range(2, 4), day="d2")
    engine.run(streaming(root, fresh, source, output("rows", table(fresh), mode="merge", merge=merge)))
    rows = engine.rows(f"select id, day from `lake`.raw.{fresh} order by id")
    assert rows == [(1, "d1"), (2, "d2"), (3, "d2")]


@pytest.mark.parametrize(
    "kinds",
    [
        ("append", "append"),
        pytest.param(("merge",), marks=pytest.mark.slow),
        pytest.param(("sort",), marks=pytest.mark.slow),
    ],
)
def test_a_batch_is_read_once(engine: LiveEngine, root: Path, fresh: str, kinds: Sequence[Any]) -> None:
    merge = Merge(clause("old.id = new.id"), clause("MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"), HERE)
    sort = Sort("global", (SortColumn("id"),))
    more: Mapping[str, Any] = {"append": {}, "merge": {"mode": "merge", "merge": merge}, "sort": {"sort": sort}}
    targets = [table(f"{fresh}_{number}") for number in range(len(kinds))]
    outputs = [
        output("rows", target, name=target.table, **{"mode": "append", **more[kind]})
        for target, kind in zip(targets, kinds, strict=True)
    ]
    engine.run(writing("select 1L id, 'd0' day", targets[0], mode="append"))
    source = arriving(root, fresh)
    arrive(root, fresh, [1, 2, 3])
    pending = engine.start_job(streaming(root, fresh, source, *outputs))
    pending.done()
    assert [batch["rows"] for batch in told(pending, "batch")] == [3]


@pytest.mark.slow
def test_an_endless_stream_runs_until_it_is_stopped_and_the_next_run_goes_on(
    engine: LiveEngine, root: Path, fresh: str, filled: Filled
) -> None:
    source = arriving(root, fresh)
    endless = streaming(root, fresh, source, trigger="processing-time", interval=0.1)
    arrive(root, fresh, [1])
    pending = engine.start_job(endless)
    assert pending.wait_for("batch").data["rows"] == 1
    arrive(root, fresh, [2])
    assert pending.wait_for("batch").data["batch"] == 1
    held = engine.start_job(endless, wait=True)
    assert "under way" in held.wait_for("warning").data["message"]
    engine.cancel(pending)
    assert pending.failed().code == "cancelled"
    arrive(root, fresh, [3])
    held.wait_for("batch")
    engine.cancel(held)
    assert held.failed().code == "cancelled"
    assert ids(engine, fresh) == [1, 2, 3]
    check(engine, fresh)


def test_a_failing_batch_fails_with_its_own_error_and_is_written_later(
    engine: LiveEngine, root: Path, fresh: str
) -> None:
    source = arriving(root, fresh)
    arrive(root, fresh, [1, 2])
    bad = streaming(root, fresh, source, sql="select id, day from source where assert_true(id <> 2) is null")
    failed = engine.fail(bad)
    assert (failed.code, failed.where is not None) == ("check-failed", True)
    engine.run(streaming(root, fresh, source))  # SQL without memory of earlier batches may change
    assert ids(engine, fresh) == [1, 2]


def test_bad_rows_fail_the_batch(engine: LiveEngine, root: Path, fresh: str) -> None:
    source = arriving(root, fresh)
    (root / "drop" / f"{fresh}_arriving" / "bad.json").write_text('{"id": "one"\n')
    assert engine.fail(streaming(root, fresh, source)).code == "bad-rows"


def test_a_checkpoint_belongs_to_one_job(engine: LiveEngine, root: Path, fresh: str) -> None:
    source = arriving(root, fresh)
    arrive(root, fresh, [1])
    first = streaming(root, fresh, source)
    engine.run(first)
    other = replace(first, name=f"{fresh}-other")
    assert engine.fail(other).code == "checkpoint-of-another-query"
    assert engine.fail(first, workflow="another").code == "checkpoint-of-another-query"
    elsewhere = replace(first, outputs=(output("rows", table(f"{fresh}_b"), mode="append"),))
    assert engine.fail(elsewhere).code == "stream-changed"
    assert "output out" in engine.fail(elsewhere).message
    foreign = root / "checkpoints" / f"{fresh}-foreign"
    foreign.mkdir(parents=True)
    (foreign / "metadata").write_text(json.dumps({"id": "x"}))
    assert first.stream is not None
    lent = replace(first, stream=replace(first.stream, checkpoint=str(foreign)))
    assert engine.fail(lent).code == "checkpoint-of-another-query"
    assert first.stream.checkpoint
    (Path(first.stream.checkpoint) / "catchment.json").write_text("{")
    assert engine.fail(first).code == "checkpoint-damaged"


def test_a_checkpoint_whose_first_claim_was_cut_off_is_claimed_again(
    engine: LiveEngine, root: Path, fresh: str
) -> None:
    source = arriving(root, fresh)
    arrive(root, fresh, [1])
    place = root / "checkpoints" / fresh
    place.mkdir(parents=True)
    (place / ".catchment.json.0b5f1c2e").write_text('{"workflow": "fl')
    engine.run(streaming(root, fresh, source))
    assert ids(engine, fresh) == [1]
    assert {each.name for each in place.iterdir() if not each.name.endswith(".crc")} == {"catchment.json", "rows"}


def test_what_is_no_stream_is_not_written_with_every_batch(engine: LiveEngine, root: Path, fresh: str) -> None:
    source = arriving(root, fresh)
    arrive(root, fresh, [1])
    refused = engine.fail(streaming(root, fresh, source, sql="select 1L id, 'd1' day"))
    assert refused.code == "unsupported-stream-output"


@pytest.mark.parametrize(
    ("sql", "mode"),
    [("select day, count(*) n from source group by day", "append"), ("select id, day from source", "complete")],
)
def test_what_spark_cannot_stream_is_refused_before_anything_is_read(
    engine: LiveEngine, root: Path, fresh: str, sql: str, mode: str
) -> None:
    source = arriving(root, fresh)
    arrive(root, fresh, [1])
    failed = engine.fail(streaming(root, fresh, source, sql=sql, output_mode=mode))
    assert (failed.code, failed.where is not None) == ("unsupported-stream", True)


def test_a_table_that_does_not_only_grow_ends_the_stream(engine: LiveEngine, root: Path, fresh: str) -> None:
    source = table(f"{fresh}_source")
    engine.run(writing("select 1L id, 'd1' day", source, mode="append"))
    job = streaming(root, fresh, following(source))
    engine.run(job)
    engine.run(writing("select 2L id, 'd1' day", source, mode="overwrite"))
    assert engine.fail(job).code == "source-overwritten"

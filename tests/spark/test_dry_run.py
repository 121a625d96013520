"""Jobs that are tried: they compute everything up to their outputs, and leave nothing behind."""

from __future__ import annotations

from dataclasses import replace

from catchment.plan.model import RewriteManifests, StreamPlan
from tests.ledgers import Filled
from tests.spark.lake import LiveEngine, changing, job, maintaining, output, reading, step, table, windowed, writing

TENS = {"start": "select 0", "end": "select $|start| + 10"}
BETWEEN = "select id from all_source where id > $|start| and id <= $|end|"


def test_a_chain_of_jobs_is_tried_without_its_tables(engine: LiveEngine, fresh: str) -> None:
    source, middle, last = (table(f"{fresh}_{name}") for name in ("source", "middle", "last"))
    engine.run(writing("SELECT id, 'x' AS text FROM range(50)", source))
    first = job(
        output("doubled", middle),
        inputs=[reading("rows", source)],
        steps=[step("doubled", "SELECT id * 2 AS twice, run_time AS at FROM rows")],
        name="first",
    )
    second = job(
        output("counted", last, mode="append"),
        inputs=[reading("rows", middle)],
        steps=[step("counted", "SELECT count(*) AS n, max(twice) AS most FROM rows")],
        name="second",
        depends_on=("first",),
    )
    tried = engine.try_jobs(first, second, sample=30)
    rows, doubled = tried["first"]["views"]
    assert (rows["kind"], rows["dataset"], rows["from_job"]) == ("input", source.address, None)
    assert rows["columns"] == [{"name": "id", "type": "bigint"}, {"name": "text", "type": "string"}]
    assert len(rows["rows"]) == 2
    assert doubled["rows"][0][1] == "2026-03-01T12:00:00Z"
    (written,) = tried["first"]["outputs"]
    assert (written["rows"], written["table_columns"], written["mode"]) == (30, None, "overwrite")
    again, counted = tried["second"]["views"]
    assert (again["from_job"], counted["rows"][0][0]) == ("first", 30)
    listed = {each["table"] for each in engine.inspect("tables", source)["tables"]}
    assert listed.isdisjoint({middle.table, last.table})
    assert engine.rows("SHOW TABLES IN global_temp") == []


def test_columns_alone_need_no_rows(engine: LiveEngine, fresh: str) -> None:
    engine.run(writing("SELECT 1 AS id, 'x' AS old", table(fresh)))
    fails_on_data = writing("SELECT assert_true(false) AS checked, 1L AS id", table(fresh))
    (tried,) = engine.try_jobs(fails_on_data, sample=None).values()
    (view,) = tried["views"]
    assert (view["rows"], [column["name"] for column in view["columns"]]) == (None, ["checked", "id"])
    (written,) = tried["outputs"]
    assert written["table_columns"] == [{"name": "id", "type": "int"}, {"name": "old", "type": "string"}]
    assert engine.try_jobs(fails_on_data)["job"]["error"]["code"] == "check-failed"


def test_a_row_that_cannot_be_computed_is_found_although_it_is_not_shown(engine: LiveEngine, fresh: str) -> None:
    late = "SELECT id, IF(id = 90, raise_error('ninety'), 1) AS checked FROM range(0, 100, 1, 1)"
    assert engine.try_jobs(writing(late, table(fresh)))["job"]["error"]["code"] == "check-failed"


def test_what_fails_is_located_and_stops_only_what_needs_it(engine: LiveEngine, fresh: str) -> None:
    wrong = writing("SELECT nothing FROM range(3)", table(fresh), name="wrong")
    needs = replace(writing("SELECT 1", table(fresh), name="needs"), depends_on=("wrong",))
    other = writing("SELECT 1 AS one", table(f"{fresh}_2"), name="other")
    tried = engine.try_jobs(wrong, needs, other)
    assert (tried["wrong"]["error"]["code"], tried["wrong"]["error"]["line"]) == ("column-not-found", 1)
    assert tried["needs"]["reason"] == "it needs wrong, which failed"
    assert tried["other"]["outputs"][0]["rows"] == 1


def test_what_would_change_something_is_not_tried(engine: LiveEngine, fresh: str) -> None:
    place = table(fresh)
    engine.run(writing("SELECT 1 AS id", place))
    change = job(name="change", change=changing(place, "tag_create", tag="x"))
    loud = job(output("rows", place), steps=[step("rows", f"DELETE FROM lake.raw.{fresh}")], name="loud")
    tried = engine.try_jobs(
        change, maintaining(place, RewriteManifests()), replace(loud, side_effects=True), replace(loud, name="sly")
    )
    assert [bool(each["reason"]) for each in tried.values()] == [True, True, True, False]
    assert tried["sly"]["error"]["code"] == "side-effects"
    assert engine.value(f"SELECT count(*) FROM lake.raw.{fresh}") == 1


def test_an_incremental_job_shows_its_next_window_and_keeps_its_state(
    engine: LiveEngine, fresh: str, filled: Filled
) -> None:
    source = windowed("source", table(f"{fresh}_source"), BETWEEN, TENS, {"start": "end"})
    engine.run(writing("SELECT id FROM range(1, 26)", table(f"{fresh}_source")))
    steps = [step("rows", "SELECT id FROM source")]
    moving = job(output("rows", table(fresh), mode="append"), inputs=[source], steps=steps, name=fresh)
    engine.run(moving)
    (tried,) = engine.try_jobs(moving).values()
    assert tried["outputs"][0]["rows"] == 10
    assert tried["views"][0]["rows"] == [[11], [12]]
    assert filled.store.states.of_job("workflow", fresh)["source"].keys == {"start": "10"}
    assert engine.run(moving)[0].rows == 10


def test_a_stream_is_tried_on_what_is_there(engine: LiveEngine, fresh: str) -> None:
    engine.run(writing("SELECT id FROM range(5)", table(f"{fresh}_source")))
    source = replace(reading("rows", table(f"{fresh}_source")), stream=True)
    stream = job(output("rows", table(fresh), mode="append"), inputs=[source], stream=StreamPlan("/nowhere"))
    (tried,) = engine.try_jobs(stream).values()
    assert tried["outputs"][0]["rows"] == 5

"""Incremental jobs: every row is read once, and the state moves with the commit or not at all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from catchment.errors import LeaseHeld, Position
from catchment.plan.model import Commits, InputPlan, JobPlan
from catchment.run_model import Backfill
from catchment.store.states import InputWindow, State, lease_name
from tests.concurrency.invariants import check, ids
from tests.ledgers import Filled, fall_back
from tests.spark.lake import (
    HERE,
    LiveEngine,
    Pending,
    by,
    delta_table,
    job,
    merging,
    output,
    reading,
    step,
    table,
    windowed,
    writing,
)

TENS = {"start": "select 0", "end": "select $|start| + 10"}
BETWEEN = "select id from all_source where id > $|start| and id <= $|end|"
NEXT = {"start": "end"}


def source_of(name: str, **more: Any) -> InputPlan:
    return windowed("source", table(f"{name}_source"), more.pop("sql", BETWEEN), more.pop("keys", TENS), NEXT)


def reading_job(name: str, source: InputPlan | None = None, *, mode: Any = "append", sql: str = "") -> JobPlan:
    """Rows of a window go to the table of the same name."""
    steps = [step("rows", sql or "select id from source")]
    return job(output("rows", table(name), mode=mode), inputs=[source or source_of(name)], steps=steps, name=name)


def arrive(engine: LiveEngine, name: str, first: int, last: int) -> None:
    """Rows from `first` to `last` come into the source."""
    engine.run(writing(f"select id from range({first}, {last + 1})", table(f"{name}_source"), mode="append"))


def told(pending: Pending, event: str) -> list[Any]:
    return [note.data for note in pending.notes if note.event == event]


def state(filled: Filled, name: str) -> dict[str, str]:
    found = filled.store.states.of_job("workflow", name).get("source")
    return dict(found.keys) if found else {}


def test_every_run_takes_the_next_window_until_there_is_nothing_new(
    engine: LiveEngine, fresh: str, filled: Filled
) -> None:
    arrive(engine, fresh, 1, 25)
    for number, end in enumerate((10, 20, 30)):
        pending = engine.start_job(reading_job(fresh))
        [report] = pending.done()
        assert report.rows == min(10, 25 - 10 * number)
        assert told(pending, "window") == [{"name": "source", "values": {"start": str(end - 10), "end": str(end)}}]
        assert state(filled, fresh) == {"start": str(end)}
    pending = engine.start_job(reading_job(fresh))
    assert pending.done() == ()
    assert told(pending, "nothing-new") == [{"since": "source: start = 30"}]
    assert state(filled, fresh) == {"start": "30"}
    assert ids(engine, fresh) == list(range(1, 26))
    arrive(engine, fresh, 31, 31)
    assert engine.run(reading_job(fresh))[0].rows == 1
    check(engine, fresh)


def test_every_window_begins_in_a_session_of_its_own(engine: LiveEngine, fresh: str) -> None:
    """What steps cache, declare, create and set in one window is not there in the next one."""
    arrive(engine, fresh, 1, 14)
    engine.run(writing("select 0L as id", table(fresh)))
    steps = (
        step("before", "SELECT '${spark.sql.session.timeZone}' AS zone"),
        step("cached", "CACHE TABLE kept AS SELECT * FROM source"),
        step("table", f"CACHE TABLE lake.raw.{fresh}"),
        step("made", f"CREATE TEMPORARY VIEW seen AS SELECT count(*) AS n FROM lake.raw.{fresh}"),
        step("declared", "DECLARE VARIABLE hundred BIGINT DEFAULT 100"),
        step("set", "SET spark.sql.session.timeZone = Asia/Tokyo"),
        step("used", "USE lake.raw"),
        step("rows", "SELECT id + hundred * n AS id FROM kept, seen, before WHERE zone <> 'Asia/Tokyo'"),
    )
    engine.run(replace(reading_job(fresh), steps=steps), windows=2)
    assert ids(engine, fresh) == [0, *range(101, 111), *range(1111, 1115)]


def test_the_write_remembers_its_window(engine: LiveEngine, fresh: str, filled: Filled) -> None:
    arrive(engine, fresh, 1, 5)
    [report] = engine.run(reading_job(fresh))
    assert filled.find(report.write_id).intent.inputs == {"source": "start = 0, end = 10"}
    [window] = filled.store.states.windows("workflow", fresh)
    assert window.inputs == {"source": InputWindow({"start": "0", "end": "10"}, {"start": "10"}, "UTC")}
    assert report.write_id == f"{window.identity}/{fresh}/out"


@pytest.mark.slow
def test_a_gap_is_passed_over_and_the_end_of_the_data_is_not(engine: LiveEngine, fresh: str, filled: Filled) -> None:
    arrive(engine, fresh, 1, 5)
    arrive(engine, fresh, 25, 26)
    assert [report.rows for _ in range(3) for report in engine.run(reading_job(fresh))] == [5, 0, 2]
    assert engine.run(reading_job(fresh)) == ()
    assert state(filled, fresh) == {"start": "30"}
    assert ids(engine, fresh) == [1, 2, 3, 4, 5, 25, 26]


@pytest.mark.slow
def test_several_windows_in_one_run(engine: LiveEngine, fresh: str, filled: Filled) -> None:
    arrive(engine, fresh, 1, 45)
    [report] = engine.run(reading_job(fresh), windows=2)
    assert (report.rows, state(filled, fresh)) == (20, {"start": "20"})
    [report] = engine.run(reading_job(fresh), windows=100)
    assert (report.rows, state(filled, fresh)) == (25, {"start": "50"})
    assert ids(engine, fresh) == list(range(1, 46))


@pytest.mark.slow
def test_windows_that_a_run_has_done_count_when_it_is_taken_up_again(
    engine: LiveEngine, fresh: str, filled: Filled
) -> None:
    arrive(engine, fresh, 1, 65)
    same = {"run": f"r-{fresh}", "windows": 4}
    engine.fail(reading_job(fresh, sql="select id from source where assert_true(id <> 15) is null"), **same)
    assert state(filled, fresh) == {"start": "10"}
    [report] = engine.run(reading_job(fresh), number=2, **same)
    assert (report.rows, state(filled, fresh)) == (30, {"start": "40"})
    [again] = engine.run(reading_job(fresh), number=3, **same)  # its answer was lost
    assert (again.rows, again.write_id, state(filled, fresh)) == (10, report.write_id, {"start": "40"})
    assert ids(engine, fresh) == list(range(1, 41))


@pytest.mark.slow
def test_a_window_up_to_what_the_source_has(engine: LiveEngine, fresh: str) -> None:
    keys = {"start": "select 0", "end": "select max(id) from all_source"}
    work = reading_job(fresh, source_of(fresh, keys=keys))
    engine.run(writing("select id from range(0)", table(f"{fresh}_source"), mode="append"))
    assert engine.run(work) == ()
    for first, last in ((1, 7), (8, 8)):
        arrive(engine, fresh, first, last)
        assert engine.run(work)[0].rows == last - first + 1
        assert engine.run(work) == ()
    assert ids(engine, fresh) == list(range(1, 9))


def test_a_window_without_state_is_the_same_in_every_run(engine: LiveEngine, fresh: str, filled: Filled) -> None:
    arrive(engine, fresh, 1, 25)
    source = windowed("source", table(f"{fresh}_source"), BETWEEN, TENS, {})
    for _ in range(2):
        assert engine.run(reading_job(fresh, source, mode="overwrite"))[0].rows == 10
    assert filled.store.states.windows("workflow", fresh) == ()


@pytest.mark.parametrize(
    ("keys", "code", "line"),
    [
        ({"start": "select 0", "end": "select $|start|"}, "window-does-not-move", 31),
        ({"start": "select 9", "end": "select $|start| - 1"}, "window-does-not-move", 31),
        (
            {"start": "select date '2020-01-31'", "end": "select date '2019-12-31'"},
            "window-does-not-move",
            31,
        ),
        ({"start": "select 0 where false", "end": "select 1"}, "bad-incremental-key", 30),
        ({"start": "select 0", "end": "select explode(array(1, 2))"}, "bad-incremental-key", 31),
        ({"start": "select 0, 1", "end": "select 1"}, "bad-incremental-key", 30),
        ({"start": "select 0", "end": "select null"}, "bad-incremental-key", 31),
        ({"start": "select 0", "end": "select nothing"}, "column-not-found", 31),
    ],
)
def test_bad_keys_are_told_at_their_place(
    engine: LiveEngine, fresh: str, filled: Filled, keys: dict[str, str], code: str, line: int
) -> None:
    arrive(engine, fresh, 1, 1)
    failed = engine.fail(reading_job(fresh, source_of(fresh, keys=keys, sql="select id from all_source")))
    assert failed.code == code, failed
    assert failed.where is not None
    assert (failed.where.file, failed.where.line) == ("workflow.yaml", line)
    assert filled.store.states.windows("workflow", fresh) == ()


def test_a_value_is_data_whatever_it_holds(engine: LiveEngine, fresh: str, filled: Filled) -> None:
    evil = "x\\' or 1 = 1 -- ${env:HOME} /* \" 😀"
    engine.run(writing("select 'y' as id union all select 'a'", table(f"{fresh}_source"), mode="append"))
    quoted = evil.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024")
    keys = {"start": f"select '{quoted}'", "end": "select concat('$|start|', '!')"}
    sql = "select id from all_source where id > '$|start|' and id <> $|end|"
    assert engine.run(reading_job(fresh, source_of(fresh, keys=keys, sql=sql)))[0].rows == 1
    assert engine.rows(f"select id from lake.raw.{fresh}") == [("y",)]
    assert state(filled, fresh) == {"start": f"{evil}!"}


def test_a_failed_job_leaves_the_state_and_the_next_run_looks_anew(
    engine: LiveEngine, fresh: str, filled: Filled
) -> None:
    arrive(engine, fresh, 1, 5)
    broken = reading_job(fresh, sql="select assert_true(id < 3, 'too much'), id from source")
    engine.fail(broken)
    assert state(filled, fresh) == {}
    assert [each.status for each in filled.store.states.windows("workflow", fresh)] == ["failed"]
    wider = source_of(fresh, keys={**TENS, "end": "select $|start| + 100"})
    assert engine.run(reading_job(fresh, wider))[0].rows == 5
    assert state(filled, fresh) == {"start": "100"}


def test_what_a_half_failed_job_has_committed_is_not_committed_again(
    engine: LiveEngine, fresh: str, filled: Filled
) -> None:
    arrive(engine, fresh, 1, 5)
    second = f"{fresh}_b"

    def both(condition: str) -> JobPlan:
        steps = [step("one", "select id from source"), step("two", f"select id from source where {condition}")]
        outputs = [output(name, table(to), mode="append", name=name) for name, to in (("one", fresh), ("two", second))]
        return job(*outputs, inputs=[source_of(fresh)], steps=steps, name=fresh)

    engine.fail(both("assert_true(id < 3) is null"))
    assert (ids(engine, fresh), state(filled, fresh)) == ([1, 2, 3, 4, 5], {})
    arrive(engine, fresh, 6, 7)
    engine.run(both("true"))
    assert ids(engine, fresh) == [1, 2, 3, 4, 5]  # the window's first output is as it was committed
    assert ids(engine, second) == [1, 2, 3, 4, 5, 6, 7]
    assert state(filled, fresh) == {"start": "10"}
    assert [each.status for each in filled.store.states.windows("workflow", fresh)] == ["done"]


@pytest.mark.parametrize("change", ["name", "address"])
@pytest.mark.slow
def test_a_window_is_not_finished_into_outputs_that_it_was_not_begun_with(
    engine: LiveEngine, fresh: str, change: str
) -> None:
    arrive(engine, fresh, 1, 5)

    def both(name: str, to: str, condition: str) -> JobPlan:
        steps = [step("one", "select id from source"), step("two", f"select id from source where {condition}")]
        outputs = [output("one", table(to), mode="append", name=name)]
        outputs.append(output("two", table(f"{fresh}_b"), mode="append", name="two"))
        return job(*outputs, inputs=[source_of(fresh)], steps=steps, name=fresh)

    engine.fail(both("one", fresh, "assert_true(id < 3) is null"))
    assert ids(engine, fresh) == [1, 2, 3, 4, 5]
    changed = both("uno", fresh, "true") if change == "name" else both("one", f"{fresh}_c", "true")
    failed = engine.fail(changed)
    assert (failed.code, "dataos://lake:raw/" in failed.message) == ("window-mismatch", True)
    engine.run(both("one", fresh, "true"))
    assert (ids(engine, fresh), ids(engine, f"{fresh}_b")) == ([1, 2, 3, 4, 5], [1, 2, 3, 4, 5])
    assert engine.run(changed) == ()  # what it is called from the next window on is free


@pytest.mark.slow
def test_a_direct_commit_of_a_half_failed_job_is_not_made_again(engine: LiveEngine, fresh: str, filled: Filled) -> None:
    arrive(engine, fresh, 1, 5)
    second = f"{fresh}_b"

    def both(condition: str) -> JobPlan:
        steps = [step("one", "select id from source"), step("two", f"select id from source where {condition}")]
        outputs = [output("one", table(fresh), mode="append", name="one", commit="direct")]
        outputs.append(output("two", table(second), mode="append", name="two"))
        return job(*outputs, inputs=[source_of(fresh)], steps=steps, name=fresh)

    engine.fail(both("assert_true(id < 3) is null"), run=f"r-{fresh}")
    engine.run(both("true"))
    assert (ids(engine, fresh), ids(engine, second)) == ([1, 2, 3, 4, 5], [1, 2, 3, 4, 5])
    assert state(filled, fresh) == {"start": "10"}


def test_a_state_with_other_keys_is_not_passed_over(engine: LiveEngine, fresh: str) -> None:
    arrive(engine, fresh, 1, 15)
    engine.run(reading_job(fresh))
    renamed = {"begin": "select 0", "end": "select $|begin| + 10"}
    sql = BETWEEN.replace("start", "begin")
    source = windowed("source", table(f"{fresh}_source"), sql, renamed, {"begin": "end"})
    assert engine.fail(reading_job(fresh, source)).code == "state-mismatch"


def test_of_two_inputs_only_the_one_with_news_moves(engine: LiveEngine, fresh: str, filled: Filled) -> None:
    arrive(engine, fresh, 1, 15)
    engine.run(writing("select 1L as id", table(f"{fresh}_rates"), mode="append"))
    between = "select id from all_rates where id > $|start| and id <= $|end|"
    rates = windowed("rates", table(f"{fresh}_rates"), between, TENS, NEXT, line=40)
    steps = [step("rows", "select id from source union all select -id from rates")]
    work = job(output("rows", table(fresh), mode="append"), inputs=[source_of(fresh), rates], steps=steps, name=fresh)
    assert [engine.run(work)[0].rows for _ in range(2)] == [11, 5]
    states = filled.store.states.of_job("workflow", fresh)
    assert {name: each.keys for name, each in states.items()} == {"source": {"start": "20"}, "rates": {"start": "10"}}
    assert engine.run(work) == ()


def test_timestamps_keep_their_zone(engine: LiveEngine, fresh: str, filled: Filled) -> None:
    sql = "select timestamp '2024-03-31 00:30:00' + make_interval(0, 0, 0, 0, id) as id from range(48)"
    engine.run(writing(sql, table(f"{fresh}_source"), mode="append"))
    keys = {
        "start": "select to_timestamp('2024-03-30 00:00:00')",
        "end": "select timestamp '$|start|' + interval 1 day",
    }
    quoted = "select id from all_source where id > '$|start|' and id <= '$|end|'"
    work = replace(reading_job(fresh, source_of(fresh, keys=keys, sql=quoted)), conf={ZONE: "Europe/Berlin"})
    assert [report.rows for _ in range(2) for report in engine.run(work)] == [0, 22]  # the day that has 23 hours
    assert state(filled, fresh) == {"start": "2024-04-01 00:00:00"}
    failed = engine.fail(replace(work, conf={ZONE: "UTC"}))
    assert (failed.code, "Europe/Berlin" in failed.message) == ("zone-changed", True)


ZONE = "spark.sql.session.timeZone"


def test_a_window_that_ends_in_the_future_is_told(engine: LiveEngine, fresh: str) -> None:
    engine.run(writing("select timestamp '2026-02-27 12:00:00' as id", table(f"{fresh}_source"), mode="append"))
    keys = {"start": "select timestamp '2026-02-26 00:00:00'", "end": "select timestamp '$|start|' + interval 7 day"}
    quoted = "select id from all_source where id > '$|start|' and id <= '$|end|'"
    pending = engine.start_job(reading_job(fresh, source_of(fresh, keys=keys, sql=quoted)))
    pending.done()
    assert [note["end"] for note in told(pending, "warning") if note.get("code") == "window-still-open"] == [
        "2026-03-05 00:00:00"
    ]


@pytest.mark.slow
def test_while_another_run_has_the_job_this_one_leaves_or_waits(engine: LiveEngine, fresh: str, filled: Filled) -> None:
    arrive(engine, fresh, 1, 5)
    lease = filled.store.leases.acquire(lease_name("workflow", fresh), "run other", 600.0)
    leaving, waiting = engine.start_job(reading_job(fresh)), engine.start_job(reading_job(fresh), wait=True)
    failed = leaving.failed()
    assert (failed.code, "run other" in failed.message) == (LeaseHeld.code, True)
    assert not waiting.is_answered()
    filled.store.leases.release(lease)
    assert waiting.done()[0].rows == 5


def test_a_resumed_run_does_not_take_a_second_window(engine: LiveEngine, fresh: str, filled: Filled) -> None:
    arrive(engine, fresh, 1, 25)
    [first] = engine.run(reading_job(fresh), run=f"r-{fresh}")
    [again] = engine.run(reading_job(fresh), run=f"r-{fresh}", number=2)
    assert (again.write_id, again.rows, state(filled, fresh)) == (first.write_id, 10, {"start": "10"})


def test_a_source_that_is_not_there_is_told(engine: LiveEngine, fresh: str) -> None:
    failed = engine.fail(reading_job(fresh))
    assert (failed.code, failed.where) == ("table-not-found", Position("workflow.yaml", 1, 1))


def test_escapes_that_are_off_are_refused(engine: LiveEngine, fresh: str) -> None:
    arrive(engine, fresh, 1, 5)
    work = replace(reading_job(fresh), conf={"spark.sql.parser.escapedStringLiterals": "true"})
    assert engine.fail(work).code == "setting-refused"


def backfilled(engine: LiveEngine, work: JobPlan, first: int, last: int, **more: Any) -> Pending:
    return engine.start_job(work, backfill=Backfill(str(first), str(last)), **more)


@pytest.mark.parametrize("mode", ["append", "overwrite-partitions"])
@pytest.mark.slow
def test_a_backfill_leaves_what_one_window_after_the_other_would_have_left(
    engine: LiveEngine, fresh: str, filled: Filled, mode: str
) -> None:
    arrive(engine, fresh, 1, 60)
    # Windows of ten and partitions of seven: neighbours touch the same partition, and the later one wins.
    sql = "select id, cast(id / 7 as int) as part from source"
    parts = {"mode": mode, "partitions": (by("identity", "part"),)}
    work = job(output("rows", table(fresh), **parts), inputs=[source_of(fresh)], steps=[step("rows", sql)], name=fresh)
    pending = backfilled(engine, work, 5, 52)
    assert pending.done()[0].rows == 47
    windows = [(note["values"]["start"], note["values"]["end"]) for note in told(pending, "window")]
    assert sorted(windows) == [("15", "25"), ("25", "35"), ("35", "45"), ("45", "52"), ("5", "15")]
    expected = {id: id // 7 for id in range(6, 53)}
    if mode == "overwrite-partitions":
        seen: dict[int, int] = {}
        for start, end in ((5, 15), (15, 25), (25, 35), (35, 45), (45, 52)):
            touched = {id // 7 for id in range(start + 1, end + 1)}
            seen = {id: part for id, part in seen.items() if part not in touched}
            seen |= {id: id // 7 for id in range(start + 1, end + 1)}
        expected = seen
    assert dict(engine.rows(f"select id, part from lake.raw.{fresh}")) == expected
    assert state(filled, fresh) == {}
    check(engine, fresh)


def test_the_last_window_of_a_backfill_has_the_keys_that_its_own_end_gives(engine: LiveEngine, fresh: str) -> None:
    arrive(engine, fresh, 1, 30)
    upper = {**TENS, "upper": "select $|end| + 5"}
    source = source_of(fresh, keys=upper, sql=BETWEEN.replace("$|end|", "$|upper|"))
    pending = backfilled(engine, reading_job(fresh, source), 0, 15)
    assert pending.done()[0].rows == 25
    last = max((note["values"] for note in told(pending, "window")), key=lambda values: int(values["end"]))
    assert last == {"start": "10", "end": "15", "upper": "20"}


@pytest.mark.slow
def test_a_backfill_that_was_cut_off_goes_on_with_what_is_left(engine: LiveEngine, fresh: str, filled: Filled) -> None:
    arrive(engine, fresh, 1, 40)
    broken = reading_job(fresh, sql="select id from source where assert_true(id <> 25, 'not this one') is null")
    failed = backfilled(engine, broken, 0, 40).failed()
    assert (failed.code, "not this one" in failed.message) == ("check-failed", True)
    assert ids(engine, fresh) == list(range(1, 21))
    assert backfilled(engine, reading_job(fresh), 0, 50).failed().code == "backfill-unfinished"
    pending = backfilled(engine, reading_job(fresh), 0, 40)
    assert pending.done()[0].rows == 20
    assert ids(engine, fresh) == list(range(1, 41))
    assert engine.run(reading_job(fresh))[0].rows == 10  # and the job itself begins where it would have begun
    assert state(filled, fresh) == {"start": "10"}


@pytest.mark.slow
def test_whoever_went_on_with_the_backfill_of_another_run_does_so_again_when_it_is_taken_up(
    engine: LiveEngine, fresh: str, filled: Filled
) -> None:
    arrive(engine, fresh, 1, 40)

    def but(number: int) -> JobPlan:
        return reading_job(fresh, sql=f"select id from source where assert_true(id <> {number}) is null")

    backfilled(engine, but(15), 0, 40, run=f"a-{fresh}").failed()
    backfilled(engine, but(25), 0, 40, run=f"b-{fresh}").failed()
    backfilled(engine, but(35), 0, 40, run=f"c-{fresh}").failed()
    backfilled(engine, reading_job(fresh), 0, 40, run=f"b-{fresh}", number=2).done()
    assert ids(engine, fresh) == list(range(1, 41))
    for letter in "abc":  # there is nothing left for any of them
        [report] = backfilled(engine, reading_job(fresh), 0, 40, run=f"{letter}-{fresh}", number=3).done()
        assert report.rows == {"a": 40, "b": 30, "c": 20}[letter]
    assert (ids(engine, fresh), state(filled, fresh)) == (list(range(1, 41)), {})


def test_a_backfill_that_was_dropped_is_not_gone_on_with(engine: LiveEngine, fresh: str, filled: Filled) -> None:
    arrive(engine, fresh, 1, 20)
    broken = reading_job(fresh, sql="select id from source where assert_true(id <> 15) is null")
    backfilled(engine, broken, 0, 20, run=f"r-{fresh}").failed()
    lease = filled.store.leases.acquire(lease_name("workflow", fresh), "me", 60.0)
    filled.store.states.change(lease, "set", State("workflow", fresh, "source", {"start": "20"}), "me")
    filled.store.leases.release(lease)
    assert backfilled(engine, reading_job(fresh), 0, 20, run=f"r-{fresh}", number=2).failed().code == "window-dropped"
    assert ids(engine, fresh) == list(range(1, 11))


def test_a_backfill_knows_the_settings_and_the_clock_of_its_job(engine: LiveEngine, fresh: str, filled: Filled) -> None:
    sql = "select timestamp '2026-02-27 23:30:00' + make_interval(0, 0, 0, id) as id from range(3)"
    engine.run(writing(sql, table(f"{fresh}_source"), mode="append"))
    keys = {
        "start": "select timestamp '2026-02-01 00:00:00'",
        "end": "select least(timestamp '$|start|' + interval 1 day, run_time)",
    }
    quoted = "select id from all_source where id >= '$|start|' and id < '$|end|'"
    work = replace(reading_job(fresh, source_of(fresh, keys=keys, sql=quoted)), conf={ZONE: "Europe/Berlin"})
    pending = engine.start_job(work, backfill=Backfill("2026-02-28", "2026-03-02"))
    assert pending.done()[0].rows == 2
    zones = {each.inputs["source"].zone for each in filled.store.states.windows("workflow", fresh)}
    assert zones == {"Europe/Berlin"}


@pytest.mark.slow
def test_where_windows_need_each_other_a_backfill_ends_with_the_first_failure(
    engine: LiveEngine, fresh: str, filled: Filled
) -> None:
    arrive(engine, fresh, 1, 40)
    merge = merging(
        "select id from source where assert_true(id <> 15, 'not this one') is null",
        table(fresh),
        "old.id = new.id",
        INSERTS,
    )
    work = replace(merge, inputs=(source_of(fresh),), name=fresh)
    backfilled(engine, work, 0, 40, run=f"r-{fresh}").failed()
    statuses = [each.status for each in filled.store.states.windows("workflow", fresh)]
    assert sorted(statuses) == ["done", "open", "open", "open"]
    good = replace(
        merging("select id from source", table(fresh), "old.id = new.id", INSERTS), inputs=work.inputs, name=fresh
    )
    backfilled(engine, good, 0, 40, run=f"r-{fresh}", number=2).done()  # whoever resumes the run goes on with it
    assert (ids(engine, fresh), state(filled, fresh)) == (list(range(1, 41)), {})


def test_what_cannot_be_backfilled_is_told(engine: LiveEngine, fresh: str) -> None:
    arrive(engine, fresh, 1, 5)
    assert backfilled(engine, reading_job(fresh), 9, 3).failed().code == "window-does-not-move"
    twice = windowed("source", table(f"{fresh}_source"), BETWEEN, TENS, {"start": "end", "end": "start"})
    assert backfilled(engine, reading_job(fresh, twice), 0, 3).failed().code == "unsupported-backfill"


@pytest.mark.slow
def test_late_rows_arrive_with_windows_that_overlap(engine: LiveEngine, fresh: str) -> None:
    """The recipe of docs/how-to/incremental.md."""

    def order(*days: tuple[int, int]) -> None:
        rows = " union all ".join(f"select {id} as id, timestamp '2024-05-{day:02} 12:00:00' as at" for id, day in days)
        engine.run(writing(rows, table(f"{fresh}_source"), mode="append"))

    keys = {
        "start": "select timestamp '2024-05-01 00:00:00'",
        "from": "select timestamp '$|start|' - interval 3 days",
        "end": "select date_trunc('day', max(at)) + interval 1 day from all_source",
    }
    sql = "select * from all_source where at >= '$|from|' and at < '$|end|'"
    days = {"mode": "overwrite-partitions", "partitions": (by("day", "at", name="day"),)}
    work = job(output("source", table(fresh), **days), inputs=[source_of(fresh, keys=keys, sql=sql)], name=fresh)
    order((1, 1), (2, 2))
    engine.run(work)
    order((22, 2))  # late, and nothing that is newer
    assert engine.run(work) == ()
    order((3, 3), (11, 1))
    engine.run(work)
    assert ids(engine, fresh) == [1, 2, 3, 11, 22]
    assert engine.run(work) == ()


@pytest.mark.slow
def test_changed_rows_are_merged_by_commit(engine: LiveEngine, fresh: str) -> None:
    source = table(f"{fresh}_source")
    new = replace(reading("new", source), commits=Commits(HERE))
    merge = merging("select * from new", table(fresh), "old.id = new.id", f"MATCHED THEN UPDATE SET * WHEN {INSERTS}")
    work = replace(merge, inputs=(new,), name=fresh)
    for rows in ("(1, 10), (2, 20)", "(2, 21), (3, 30)"):
        engine.run(writing(f"select * from values {rows} as t(id, amount)", source, mode="append"))
        engine.run(work)
        assert engine.run(work) == ()
    assert engine.rows(f"select id, amount from lake.raw.{fresh} order by id") == [(1, 10), (2, 21), (3, 30)]


INSERTS = "NOT MATCHED THEN INSERT *"


LIVE = {"start": "select 0", "end": "select max(id) from all_source"}


@pytest.mark.parametrize("kept", [0, 1])
@pytest.mark.slow
def test_windows_that_the_metastore_has_lost_are_not_read_again(
    engine: LiveEngine, fresh: str, filled: Filled, kept: int
) -> None:
    """The next window would end later than the lost one did, because rows have arrived since."""
    for last in (10, 20, 30):
        arrive(engine, fresh, last - 9, last)
        engine.run(reading_job(fresh, source_of(fresh, keys=LIVE)))
    arrive(engine, fresh, 31, 35)
    fall_back(filled.store, fresh, kept)
    pending = engine.start_job(reading_job(fresh, source_of(fresh, keys=LIVE)), windows=100)
    pending.done()
    assert told(pending, "warning")[0]["code"] == "metastore-behind"
    assert ids(engine, fresh) == list(range(1, 36))
    assert state(filled, fresh) == {"start": "35"}
    check(engine, fresh)


@pytest.mark.slow
def test_a_lost_window_with_two_outputs_is_finished_in_both(
    engine: LiveEngine, root: Path, fresh: str, filled: Filled
) -> None:
    """A Delta table and a direct commit; only the first one was committed before the metastore fell back."""
    arrive(engine, fresh, 1, 10)
    first = output("source", delta_table(f"{fresh}_delta", root), name="first", mode="append")
    second = output("source", table(fresh), name="second", mode="append", commit="direct")
    work = job(first, second, inputs=[source_of(fresh, keys=LIVE)], name=fresh)
    engine.run(job(first, inputs=work.inputs, name=fresh))
    fall_back(filled.store, fresh, 0)
    arrive(engine, fresh, 11, 15)
    for _ in range(2):
        engine.run(work, windows=100)
        fall_back(filled.store, fresh, 0)
    engine.run(work, windows=100)
    assert sorted(row[0] for row in engine.rows(f"SELECT id FROM delta.`{first.dataset.path}`")) == list(range(1, 16))
    assert ids(engine, fresh) == list(range(1, 16))
    assert state(filled, fresh) == {"start": "15"}

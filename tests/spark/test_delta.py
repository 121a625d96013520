"""Delta tables: written by several engines at once, killed, run again, looked at."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from catchment.errors import EngineLost
from catchment.plan.model import Dataset, InputPlan, JobPlan
from catchment.store import open_store
from tests.ledgers import Filled, forget_engine
from tests.spark.lake import (
    HERE,
    LiveEngine,
    by,
    delta_depot,
    delta_table,
    engine_plan,
    job,
    lake_depot,
    output,
    step,
    table,
    writing,
)

PART = (by("identity", "part"),)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("delta")


def started(place: Path, key: str, fault: str = "") -> LiveEngine:
    """An engine that knows a depot of Delta tables and one of Iceberg tables."""
    return LiveEngine(engine_plan(delta_depot(place), lake_depot(place), key=key, fault=fault), place / f"logs-{key}")


@pytest.fixture(scope="module")
def here(place: Path) -> Iterator[LiveEngine]:
    live = started(place, "here")
    live.ready()
    yield live
    live.process.stop(grace=5)


@pytest.fixture(scope="module")
def there(place: Path, here: LiveEngine) -> Iterator[LiveEngine]:
    live = started(place, "there")
    live.ready()
    yield live
    live.process.stop(grace=5)


@pytest.fixture
def target(place: Path, fresh: str) -> Dataset:
    return delta_table(fresh, place)


@pytest.fixture
def ledger(place: Path) -> Iterator[Filled]:
    with open_store(f"sqlite:///{place}/metastore.db") as store:
        yield Filled(store)


def ids(engine: LiveEngine, target: Dataset, more: str = "") -> list[int]:
    return [row[0] for row in engine.rows(f"SELECT id FROM {target.identifier} {more} ORDER BY id")]


def marks(engine: LiveEngine, target: Dataset) -> list[tuple[Any, ...]]:
    """(part, mark, rows) of the table."""
    return engine.rows(f"SELECT part, mark, count(*) FROM {target.identifier} GROUP BY ALL ORDER BY ALL")


def appending(target: Dataset, first: int, name: str = "job", **more: Any) -> JobPlan:
    return writing(f"SELECT id FROM range({first}, {first + 5})", target, name=name, mode="append", **more)


def replacing(target: Dataset, mark: str, parts: str, **more: Any) -> JobPlan:
    """A job that replaces the partitions it has rows for, three rows in each."""
    sql = f"SELECT '{mark}' AS mark, part FROM (SELECT explode(array({parts})) AS part), range(3)"
    return writing(sql, target, name=mark, mode="overwrite-partitions", partitions=PART, **more)


def versions(engine: LiveEngine, target: Dataset) -> list[dict[str, Any]]:
    return list(engine.inspect("snapshots", target)["snapshots"])


def test_append_overwrite_and_the_way_back(here: LiveEngine, target: Dataset) -> None:
    [first] = here.run(appending(target, 0))
    [second] = here.run(appending(target, 5))
    [third] = here.run(writing("SELECT id FROM range(90, 92)", target))
    assert [(each.rows, each.snapshot_id) for each in (first, second, third)] == [(5, 1), (5, 2), (2, 3)]
    assert ids(here, target) == [90, 91]
    assert ids(here, target, "VERSION AS OF 2") == list(range(10))
    assert here.value(f"SELECT count({target.table}.id) FROM events.raw.{target.table}") == 2
    then = InputPlan("rows", target, HERE, options={"versionAsOf": "1"})
    here.run(job(output("rows", table(target.table or ""), mode="append"), inputs=[then]))
    assert [row[0] for row in here.rows(f"SELECT id FROM lake.raw.{target.table} ORDER BY id")] == list(range(5))


def test_a_dynamic_overwrite_replaces_what_it_produced_and_nothing_else(here: LiveEngine, target: Dataset) -> None:
    here.run(replacing(target, "old", "1, 2, NULL"))
    [report] = here.run(replacing(target, "new", "2, NULL"))
    assert report.rows == 6
    assert marks(here, target) == [(None, "new", 3), (1, "old", 3), (2, "new", 3)]


def test_nothing_to_write(here: LiveEngine, place: Path, target: Dataset, fresh: str) -> None:
    here.run(replacing(target, "old", "1"))
    whole = delta_table(f"{fresh}_whole", place)
    here.run(writing("SELECT 'old' AS mark", whole))
    for mode, left in (("append", 3), ("overwrite-partitions", 3), ("overwrite", 0)):
        [report] = here.run(writing("SELECT 'x' AS mark, 1 AS part WHERE false", target, mode=mode))
        assert (report.rows, report.files) == (0, 0)
        assert here.value(f"SELECT count(*) FROM {target.identifier}") == left
    here.run(writing("SELECT 'x' AS mark WHERE false", whole, mode="overwrite-partitions"))
    assert here.rows(f"SELECT * FROM {whole.identifier}") == [("old",)]


@pytest.mark.parametrize(
    "mode",
    [
        "append",
        pytest.param("overwrite", marks=pytest.mark.slow),
        pytest.param("overwrite-partitions", marks=pytest.mark.slow),
    ],
)
def test_a_finished_run_changes_nothing_when_it_runs_again(
    here: LiveEngine, ledger: Filled, target: Dataset, mode: str
) -> None:
    work = writing("SELECT id, id % 2 AS part FROM range(4)", target, mode=mode, partitions=PART)
    first = here.run(work, run=f"r-{target.table}")
    here.run(writing("SELECT 9 AS id, 0 AS part", target, mode="append"))
    before = versions(here, target)
    assert here.run(work, run=f"r-{target.table}", number=2) == first
    ledger.lose(first[0].write_id)  # the metastore was replaced by an older copy: the table's log still knows
    assert here.run(work, run=f"r-{target.table}", number=3) == first
    assert ledger.states(first[0].write_id) == ["committed"]
    assert versions(here, target) == before


def test_two_engines_on_a_table_that_neither_has_seen(here: LiveEngine, there: LiveEngine, target: Dataset) -> None:
    jobs = [appending(target, 5 * n, f"j{n}", properties={"delta.appendOnly": "true"}) for n in range(4)]
    sent = [engine.start_job(each) for engine, each in zip([here, there, here, there], jobs, strict=True)]
    assert [pending.done()[0].rows for pending in sent] == [5, 5, 5, 5]
    assert ids(here, target) == list(range(20))
    assert here.inspect("table", target)["properties"] == {"delta.appendOnly": "true"}
    assert [len(each["write_ids"]) for each in versions(here, target)] == [0, 1, 1, 1, 1]


def test_two_engines_that_replace_partitions_never_mix(here: LiveEngine, there: LiveEngine, target: Dataset) -> None:
    here.run(replacing(target, "old", "1, 2, 3, 4"))
    for pending in (here.start_job(replacing(target, "a", "1, 2")), there.start_job(replacing(target, "b", "2, 3"))):
        pending.done()
    found = {part: (mark, rows) for part, mark, rows in marks(here, target)}
    last = found.pop(2)
    assert last in (("a", 3), ("b", 3))
    assert found == {1: ("a", 3), 3: ("b", 3), 4: ("old", 3)}


def said(what: str, target: Dataset) -> str:
    """What the engine was told about a table, or `no`; java_method makes a text of a null."""
    return f"java_method('java.lang.System', 'getProperty', '{what}-{target.table}', 'no')"


def waiting(target: Dataset, **more: Any) -> JobPlan:
    """A job that replaces partition 0, and goes on writing until the gate is opened."""
    begun = f"java_method('java.lang.System', 'setProperty', 'begun-{target.table}', 'yes')"
    pause = f"CASE WHEN {said('gate', target)} = 'no' THEN java_method('java.lang.Thread', 'sleep', 50L) END"
    passed = f"coalesce({begun}, '') <> '-' AND coalesce({pause}, '') <> '-'"
    # Counted, so that every one of them is waited for, whatever Spark makes of the conditions.
    slow = f"SELECT count(*) AS seen FROM range(0, 1000, 1, 1) WHERE {passed}"
    steps = [step("slow", slow), step("rows", "SELECT 'ours' AS mark, 0 AS part FROM slow, range(3) WHERE seen > 0")]
    return job(output("rows", target, mode="overwrite-partitions", **more), steps=steps, name="waiting")


def overtake(engine: LiveEngine, target: Dataset) -> None:
    """Commit to partition 0, as somebody who knows nothing of leases, while a job is writing it."""
    deadline = time.monotonic() + 60
    while engine.value(f"SELECT {said('begun', target)}") == "no":
        assert time.monotonic() < deadline
        time.sleep(0.1)
    engine.ask(f"INSERT INTO {target.identifier} VALUES ('theirs', 0)")
    engine.ask(f"SELECT java_method('java.lang.System', 'setProperty', 'gate-{target.table}', 'open')")


@pytest.mark.parametrize("conflict", ["last-wins", "fail", pytest.param("rerun", marks=pytest.mark.slow)])
def test_a_job_that_is_overtaken_while_it_writes(here: LiveEngine, target: Dataset, conflict: str) -> None:
    here.run(replacing(target, "old", "0, 1"))
    overtaken = here.start_job(waiting(target, conflict=conflict))
    overtake(here, target)
    if conflict == "fail":
        failed = overtaken.failed()
        assert (failed.code, failed.retryable) == ("partitions-changed", True)
        assert marks(here, target) == [(0, "old", 3), (0, "theirs", 1), (1, "old", 3)]
    else:
        overtaken.done()
        again = "it is written again" if conflict == "last-wins" else "the job runs again on the new state"
        assert again in str([note.data for note in overtaken.notes if note.event == "warning"])
        assert marks(here, target) == [(0, "ours", 3), (1, "old", 3)]


@pytest.mark.parametrize(("part", "kept"), [(0, False), pytest.param(1, True, marks=pytest.mark.slow)])
def test_a_job_that_is_overtaken_before_it_writes(
    here: LiveEngine, there: LiveEngine, place: Path, target: Dataset, part: int, *, kept: bool
) -> None:
    here.run(replacing(target, "old", "0, 1"))
    aside = delta_table(f"{target.table}_aside", place)
    here.run(replacing(aside, "old", "0"))
    slow = waiting(aside)
    late = output("rows", target, mode="overwrite-partitions", conflict="fail", name="late")
    both = here.start_job(job(*slow.outputs, late, steps=slow.steps))
    both.wait_for("writing")
    there.run(writing(f"SELECT 'theirs' AS mark, {part} AS part", target, mode="append"))
    overtake(here, aside)
    if kept:
        both.done()
        assert marks(here, target) == [(0, "ours", 3), (1, "old", 3), (1, "theirs", 1)]
    else:
        assert both.failed().code == "partitions-changed"
        assert marks(here, target) == [(0, "old", 3), (0, "theirs", 1), (1, "old", 3)]


@pytest.mark.parametrize(
    ("point", "there_already"),
    [
        ("data-written", False),
        pytest.param("before-own-commit", False, marks=pytest.mark.slow),
        ("own-commit-applied", True),
        pytest.param("before-marked", True, marks=pytest.mark.slow),
        pytest.param("marked", True, marks=pytest.mark.slow),
    ],
)
def test_killed_around_the_commit_the_write_is_there_once(
    here: LiveEngine, ledger: Filled, place: Path, target: Dataset, point: str, *, there_already: bool
) -> None:
    here.run(appending(target, 0))
    lost, run = appending(target, 5, "lost"), f"r-{target.table}"
    victim = started(place, "victim", f"{point}:kill")
    assert isinstance(victim.start_job(lost, run=run).answer(), EngineLost)
    write = ledger.find(f"{run}/lost/out")
    assert write.state == ("committed" if point == "marked" else "open")
    assert ids(here, target) == list(range(10 if there_already else 5))
    forget_engine(ledger.store, write.intent.owner)
    if point == "own-commit-applied":
        [done] = here.recover(target)
        assert (done["published"], done["abandoned"], done["error"]) == ([write.write_id], [], None)
    [report] = here.run(lost, run=run, number=2)
    assert (report.rows, report.snapshot_id) == (5, 2)
    assert ids(here, target) == list(range(10))
    assert ledger.states(write.write_id) == ["committed"]
    assert ledger.left(target.address) == []


def test_a_lost_write_is_given_up_by_whoever_writes_next(
    here: LiveEngine, ledger: Filled, target: Dataset, fresh: str
) -> None:
    here.run(appending(target, 0))
    ledger.open(f"r-{fresh}/lost/out", target=target.address, buffer=f"{target.path}#lost")
    pending = here.start_job(appending(target, 5))
    pending.done()
    [warning] = [note for note in pending.notes if note.event == "warning"]
    assert f"left r-{fresh}/lost/out unfinished" in warning.data["message"]
    assert ledger.states(f"r-{fresh}/lost/out") == ["abandoned"]


@pytest.mark.slow
def test_an_answer_that_is_lost_is_no_second_write(
    place: Path, start_engine: Callable[..., LiveEngine], target: Dataset
) -> None:
    deaf = start_engine(delta_depot(place), key="deaf", fault="own-commit-applied:lose")
    [report] = deaf.run(appending(target, 0))
    assert (report.rows, report.snapshot_id) == (5, 1)
    assert ids(deaf, target) == list(range(5))


def test_rows_that_do_not_fit_are_refused(here: LiveEngine, ledger: Filled, target: Dataset) -> None:
    here.run(writing("SELECT 1 AS id, 'a' AS text", target))
    for sql, said in (
        ("SELECT 1 AS id", "column text (string) is missing"),
        ("SELECT 1 AS id, 'a' AS text, 1 AS extra", "column extra (int) is not in the table"),
        ("SELECT 5000000000L AS id, 'a' AS text", "column id is bigint in the rows and int in the table"),
    ):
        failed = here.fail(writing(sql, target, mode="append"))
        assert (failed.code, failed.retryable) == ("schema-mismatch", False)
        assert said in failed.message
    wider = writing("SELECT 5000000000L AS id, 'a' AS text", target, mode="append", merge_schema=True)
    assert here.fail(wider, run=f"r-{target.table}").code == "schema-mismatch"
    assert ledger.states(f"r-{target.table}/job/out") == ["abandoned"]
    assert len(versions(here, target)) == 2


def test_columns_are_matched_by_name_widened_added_and_filled(here: LiveEngine, target: Dataset) -> None:
    here.run(writing("SELECT 1L AS id, 'a' AS text", target))
    here.run(writing("SELECT 'b' AS TEXT, 2 AS id", target, mode="append"))
    here.run(writing("SELECT 3L AS id, 'new' AS extra", target, mode="append", merge_schema=True))
    found = here.rows(f"SELECT id, text, extra FROM {target.identifier} ORDER BY id")
    assert found == [(1, "a", None), (2, "b", None), (3, None, "new")]
    assert here.fail(writing("SELECT 4L AS id, NULL AS none", target, merge_schema=True)).code == "type-not-storable"


def test_two_jobs_that_add_different_columns_at_once(here: LiveEngine, there: LiveEngine, target: Dataset) -> None:
    here.run(writing("SELECT 0 AS id", target))
    sent = [
        engine.start_job(writing(f"SELECT {n} AS id, {n} AS extra_{n}", target, mode="append", merge_schema=True))
        for n, engine in ((1, here), (2, there))
    ]
    for pending in sent:
        pending.done()
    found = here.rows(f"SELECT id, extra_1, extra_2 FROM {target.identifier} ORDER BY id")
    assert found == [(0, None, None), (1, 1, None), (2, None, 2)]


def test_partitions_are_columns_and_those_of_the_table(here: LiveEngine, target: Dataset) -> None:
    sql = "SELECT now() AS at, 1 AS part"
    assert here.fail(writing(sql, target, partitions=(by("month", "at"),))).code == "partition-invalid"
    assert here.fail(writing(sql, target, partitions=(by("identity", "nowhere"),))).code == "column-not-found"
    here.run(writing(sql, target, partitions=PART))
    assert here.fail(writing(sql, target, partitions=(by("identity", "at"),))).code == "partition-spec-differs"


def test_looking_at_tables(here: LiveEngine, target: Dataset) -> None:
    work = writing("SELECT id, id % 2 AS part FROM range(4)", target, name="writer", partitions=PART, comment="said")
    here.run(work, run="r-7")
    listed = here.inspect("tables", Dataset("", "events", "delta", path=str(Path(str(target.path)).parents[1])))
    entry = {"namespace": "raw", "table": target.table, "address": target.address}
    assert entry in listed["tables"]
    made, written = versions(here, target)
    assert (made["operation"], made["write_ids"]) == ("create table", [])
    assert written["committed_at"].endswith("+00:00")
    del written["committed_at"]
    assert written == {
        "snapshot_id": 1,
        "operation": "write",
        "workflow": "workflow",
        "job": "writer",
        "run_id": "r-7",
        "write_ids": ["r-7/writer/out"],
        "writes": [{"write_id": "r-7/writer/out", "rows": 4}],
        "added_rows": 4,
    }
    facts = here.inspect("table", target)
    assert (facts["rows"], facts["snapshot_id"], facts["snapshots"]) == (4, 1, 2)
    assert [column["name"] for column in facts["columns"]] == ["id", "part"]
    assert facts["partitions"] == [{"name": "part", "transform": "identity", "column": "part"}]
    files = here.inspect("files", target)["files"]
    assert (len(files), sum(entry["rows"] for entry in files)) == (facts["files"], 4)
    assert all(Path(entry["path"]).stat().st_size == entry["bytes"] for entry in files)


def test_a_table_that_is_not_there(here: LiveEngine, target: Dataset) -> None:
    reading = job(output("rows", table("x")), inputs=[InputPlan("rows", target, HERE)])
    assert here.fail(reading).code == "table-not-found"


@pytest.mark.slow
def test_both_lines_of_spark_write_one_table(
    here: LiveEngine, start_engine: Callable[..., LiveEngine], place: Path, target: Dataset
) -> None:
    older = start_engine(delta_depot(place), key="older", spark="3.5")
    older.run(replacing(target, "a", "1, 2"))
    here.run(replacing(target, "b", "2, NULL"))
    [report] = older.run(replacing(target, "c", "NULL", conflict="fail"), run=f"r-{target.table}")
    assert report.snapshot_id == 3
    assert older.run(replacing(target, "c", "NULL"), run=f"r-{target.table}", number=2) == (report,)
    assert marks(here, target) == [(None, "c", 3), (1, "a", 3), (2, "b", 3)]
    overtaken = older.start_job(waiting(target, conflict="fail"))
    overtake(older, target)
    assert overtaken.failed().code == "partitions-changed"
    assert older.inspect("table", target)["snapshots"] == 5

"""Reading by commits: what was added since the last run, exactly once; whatever else happened is said."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pytest

from catchment.plan.model import Commits, Dataset, Expire, JobPlan
from catchment.store import open_store
from catchment.store.states import InputWindow, State, Window, lease_name
from tests.concurrency.invariants import check, ids
from tests.ledgers import Filled
from tests.spark.lake import (
    HERE,
    LiveEngine,
    delta_table,
    job,
    maintaining,
    output,
    reading,
    step,
    table,
    writing,
)


def copying(name: str, source: Dataset, since: str | None = None) -> JobPlan:
    """A job that appends what is new in a source to a table."""
    new = replace(reading("new", source), commits=Commits(HERE, since))
    return job(output("new", table(name), mode="append"), inputs=[new], name=name)


def put(source: Dataset, *numbers: int, mode: str = "append") -> JobPlan:
    rows = " union all ".join(f"select {number}L as id" for number in numbers)
    return writing(rows, source, mode=mode)


def known(filled: Filled, name: str) -> dict[str, str]:
    found = filled.store.states.of_job("workflow", name).get("new")
    return dict(found.keys) if found else {}


def left_open(filled: Filled, name: str, first: str | None, last: str) -> None:
    """A window that an engine has begun before it died."""
    part = InputWindow({"to": last} | ({"from": first} if first else {}), {"snapshot": last}, "UTC")
    lease = filled.store.leases.acquire(lease_name("workflow", name), "me", 60.0)
    filled.store.states.open(lease, [Window("workflow", name, 0, "run", "open", f"dead-{name}", {"new": part})])
    filled.store.leases.release(lease)


def test_what_was_appended_is_read_once(engine: LiveEngine, fresh: str, filled: Filled) -> None:
    source = table(f"{fresh}_source")
    for numbers, mode in (((1, 2), "append"), ((3,), "overwrite")):
        engine.run(put(source, *numbers, mode=mode))
    assert engine.run(copying(fresh, source))[0].rows == 1  # the first run reads the table as it is
    assert engine.run(copying(fresh, source)) == ()
    for numbers in ((4,), (5, 6)):
        engine.run(put(source, *numbers))
    assert engine.run(copying(fresh, source))[0].rows == 3
    assert engine.run(copying(fresh, source)) == ()
    assert ids(engine, fresh) == [3, 4, 5, 6]
    newest = engine.value(f"select max_by(snapshot_id, committed_at) from lake.raw.{fresh}_source.snapshots")
    assert known(filled, fresh) == {"snapshot": str(newest)}
    check(engine, fresh)


def test_of_two_sources_only_one_has_news(engine: LiveEngine, fresh: str) -> None:
    names = [f"{fresh}_{letter}" for letter in "ab"]
    for number, name in enumerate(names):
        engine.run(put(table(name), number))
    both = [replace(reading(letter, table(f"{fresh}_{letter}")), commits=Commits(HERE)) for letter in "ab"]
    steps = [step("rows", "select id from a union all select id from b")]
    work = job(output("rows", table(fresh), mode="append"), inputs=both, steps=steps, name=fresh)
    engine.run(work)
    engine.run(put(table(names[0]), 7))
    assert engine.run(work)[0].rows == 1
    assert ids(engine, fresh) == [0, 1, 7]


def test_since_a_moment(engine: LiveEngine, fresh: str) -> None:
    source = table(f"{fresh}_source")
    engine.run(put(source, 1))
    moment = engine.value(f"select max(committed_at) + interval 1 millisecond from lake.raw.{fresh}_source.snapshots")
    engine.run(put(source, 2))
    assert engine.run(copying(fresh, source, since=moment))[0].rows == 1
    assert ids(engine, fresh) == [2]
    early = f"{fresh}_early"
    assert engine.run(copying(early, source, since="2020-01-01"))[0].rows == 2


def test_compaction_adds_nothing(engine: LiveEngine, fresh: str) -> None:
    source = table(f"{fresh}_source")
    for number in (1, 2):
        engine.run(put(source, number))
    engine.run(copying(fresh, source))
    engine.ask(
        f"call lake.system.rewrite_data_files(table => 'raw.{fresh}_source', options => map('rewrite-all', 'true'))"
    )
    engine.run(put(source, 3))
    assert engine.run(copying(fresh, source))[0].rows == 1
    assert ids(engine, fresh) == [1, 2, 3]


@pytest.mark.parametrize("trouble", ["overwritten", "expired", "rolled back"])
@pytest.mark.slow
def test_a_history_that_cannot_be_read_on_from_is_told_with_the_choices(
    engine: LiveEngine, fresh: str, filled: Filled, trouble: str
) -> None:
    source = table(f"{fresh}_source")
    engine.run(put(source, 1))
    first = engine.value(f"select snapshot_id from lake.raw.{fresh}_source.snapshots")
    engine.run(put(source, 2))
    engine.run(copying(fresh, source))
    name = f"raw.{fresh}_source"
    if trouble == "overwritten":
        engine.run(put(source, 8, mode="overwrite"))
    elif trouble == "expired":
        engine.run(put(source, 3))
        engine.ask(f"call lake.system.expire_snapshots('{name}', timestamp '2100-01-01 00:00:00')")
    else:
        engine.ask(f"call lake.system.rollback_to_snapshot('{name}', {first})")
    failed = engine.fail(copying(fresh, source))
    assert failed.code == ("source-overwritten" if trouble == "overwritten" else "source-history-gone")
    assert "state reset" in (failed.hint or "")
    assert failed.where == HERE
    newest = engine.value(f"select max_by(snapshot_id, made_current_at) from lake.{name}.history")
    lease = filled.store.leases.acquire(lease_name("workflow", fresh), "me", 60.0)
    filled.store.states.change(lease, "set", State("workflow", fresh, "new", {"snapshot": str(newest)}), "me")
    filled.store.leases.release(lease)
    engine.run(put(source, 9))
    assert engine.run(copying(fresh, source))[0].rows == 1


FAR = 4_000_000_000_000
"""A moment that everything is older than."""


def history(engine: LiveEngine, source: Dataset) -> list[str]:
    return [each["snapshot_id"] for each in engine.inspect("snapshots", source)["snapshots"]]


def half_read(engine: LiveEngine, fresh: str) -> Dataset:
    """A table of four commits, of which a job has read two."""
    source = table(f"{fresh}_source")
    for number in (1, 2):
        engine.run(put(source, number))
    engine.run(copying(fresh, source))
    for number in (3, 4):
        engine.run(put(source, number))
    return source


def test_expiry_spares_what_is_still_to_be_read(engine: LiveEngine, fresh: str, filled: Filled) -> None:
    source = half_read(engine, fresh)
    first, read, between, newest = history(engine, source)
    looked = engine.maintain(source, Expire(FAR), dry_run=True)
    assert [each["snapshot_id"] for each in looked["snapshots"]] == [first]
    assert looked["kept"] == {"incremental": sorted([read, between], key=int)}
    [follower] = looked["followers"]
    since = datetime.fromtimestamp(filled.store.states.of_job("workflow", fresh)["new"].changed, timezone.utc)
    expected = ("workflow", fresh, "new", read, since.isoformat(timespec="seconds"))
    assert tuple(follower.values()) == expected
    pending = engine.start_job(maintaining(source, Expire(FAR)))
    pending.done()
    [warned] = [note.data["message"] for note in pending.notes if note.event == "warning"]
    assert f"catchment state reset workflow {fresh}" in warned
    named = engine.maintain(source, Expire(snapshot_ids=(between,)))
    assert (named["snapshots"], named["kept"]) == ([], {"incremental": [between]})
    assert history(engine, source) == [read, between, newest]
    assert engine.run(copying(fresh, source))[0].rows == 2
    assert engine.maintain(source, Expire(FAR))["followers"] == []
    assert (history(engine, source), ids(engine, fresh)) == ([newest], [1, 2, 3, 4])


def rule_main(root: Path, name: str) -> None:
    """Give main a rule of its own: snapshots are old after a millisecond. (In SQL it would be a minute at least.)"""
    with closing(sqlite3.connect(root / "lake" / "catalog.db")) as catalog, catalog:
        [(place,)] = catalog.execute("SELECT metadata_location FROM iceberg_tables WHERE table_name = ?", (name,))
        metadata = json.loads(Path(place.removeprefix("file:")).read_text())
        metadata["refs"]["main"]["max-snapshot-age-ms"] = 1
        ruled = place.replace(".metadata.json", "-ruled.metadata.json")
        Path(ruled.removeprefix("file:")).write_text(json.dumps(metadata))
        catalog.execute("UPDATE iceberg_tables SET metadata_location = ? WHERE table_name = ?", (ruled, name))


def test_no_rule_of_a_branch_takes_what_is_still_to_be_read(engine: LiveEngine, root: Path, fresh: str) -> None:
    source = half_read(engine, fresh)
    before = history(engine, source)
    rule_main(root, f"{fresh}_source")
    for operation in (Expire(FAR), Expire(snapshot_ids=(before[0],))):
        assert engine.start_maintenance(source, operation).failed().code == "snapshots-needed"
    assert history(engine, source) == before
    assert engine.run(copying(fresh, source))[0].rows == 2


def test_a_state_that_is_reset_lets_go_of_the_history(engine: LiveEngine, fresh: str, filled: Filled) -> None:
    source = table(f"{fresh}_source")
    engine.run(put(source, 1))
    engine.run(copying(fresh, source))
    engine.run(put(source, 2))
    assert engine.maintain(source, Expire(FAR))["snapshots"] == []
    lease = filled.store.leases.acquire(lease_name("workflow", fresh), "me", 60.0)
    filled.store.states.change(lease, "reset", State("workflow", fresh, "new"), "me")
    filled.store.leases.release(lease)
    assert len(engine.maintain(source, Expire(FAR))["snapshots"]) == 1


@pytest.mark.parametrize("trouble", ["the first", "the last", "the only"])
def test_a_window_whose_history_went_while_it_was_open_is_told_with_the_choices(
    engine: LiveEngine, fresh: str, filled: Filled, trouble: str
) -> None:
    source = table(f"{fresh}_source")
    for number in (1, 2, 3):
        engine.run(put(source, number))
    snapshots = history(engine, source)
    first = None if trouble == "the only" else str(snapshots[0])
    last = str(snapshots[2 if trouble == "the first" else 1])
    engine.ask(f"call lake.system.expire_snapshots('raw.{fresh}_source', timestamp '2100-01-01 00:00:00')")
    left_open(filled, fresh, first, last)
    failed = engine.fail(copying(fresh, source))
    assert (failed.code, failed.where, "state reset" in (failed.hint or "")) == ("source-history-gone", HERE, True)


@pytest.fixture
def mixed(engine: LiveEngine, root: Path) -> tuple[LiveEngine, Path]:
    """An engine that knows both formats, and where they are."""
    return engine, root


@pytest.mark.slow
def test_versions_of_delta(mixed: tuple[LiveEngine, Path], fresh: str) -> None:
    here, root = mixed
    source = delta_table(f"{fresh}_source", root)
    here.run(put(source, 1, 2))
    assert here.run(copying(fresh, source))[0].rows == 2
    assert here.run(copying(fresh, source)) == ()
    for number in (3, 4):
        here.run(put(source, number))
    here.ask(f"optimize delta.`{source.path}`")
    assert here.run(copying(fresh, source))[0].rows == 2
    assert here.run(copying(fresh, source)) == ()
    assert ids(here, fresh) == [1, 2, 3, 4]
    with open_store(f"sqlite:///{root}/metastore.db") as store:
        assert known(Filled(store), fresh)["snapshot"].startswith("4@")
    here.run(put(source, 5, mode="overwrite"))
    assert here.fail(copying(fresh, source)).code == "source-overwritten"


@pytest.mark.slow
def test_a_window_over_versions_that_went_while_it_was_open_is_not_passed_over(
    mixed: tuple[LiveEngine, Path], fresh: str
) -> None:
    here, root = mixed
    source = delta_table(f"{fresh}_source", root)
    here.run(put(source, 1))
    here.ask(f"alter table delta.`{source.path}` set tblproperties ('delta.checkpointInterval' = '2')")
    here.run(copying(fresh, source))
    for number in (2, 3, 4, 5):
        here.run(put(source, number))
    with open_store(f"sqlite:///{root}/metastore.db") as store:
        filled = Filled(store)
        first, _, table_id = known(filled, fresh)["snapshot"].partition("@")
        newest = int(first) + 4
        left_open(filled, fresh, f"{first}@{table_id}", f"{newest}@{table_id}")
        for version in range(newest - 1):  # as Delta does it with versions that are older than a checkpoint
            (root / "events" / "raw" / f"{fresh}_source" / "_delta_log" / f"{version:020}.json").unlink()
        left_open(filled, f"{fresh}_first", None, f"{first}@{table_id}")
        left_open(filled, f"{fresh}_other", f"{newest - 1}@another-table", f"{newest}@another-table")
        for name in (fresh, f"{fresh}_first", f"{fresh}_other"):
            assert here.fail(copying(name, source)).code == "source-history-gone"
        assert ids(here, fresh) == [1]

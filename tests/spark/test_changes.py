"""Changes of tables beside writing rows into them: what they do, what they report, what they refuse."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from catchment.errors import EngineLost
from catchment.plan.model import ChangeName, ChangePlan, JobPlan
from tests.concurrency.invariants import ids
from tests.concurrency.waiting import await_pending, held, worker_of
from tests.ledgers import Filled, end_leases
from tests.spark.lake import HERE, LiveEngine, changing, lake_depot, table, writing


def appending(name: str, *numbers: int, job: str = "job", **more: Any) -> JobPlan:
    sql = (
        f"SELECT CAST(id AS INT) AS id, CAST(id AS STRING) AS word FROM VALUES ({'), ('.join(map(str, numbers))}) t(id)"
    )
    return writing(sql, table(name), name=job, mode="append", **more)


def change(engine: LiveEngine, table_name: str, what: ChangeName, **arguments: Any) -> Mapping[str, Any]:
    """A dry run changes nothing and says what the change then does; doing it again finds nothing to do."""
    plan = changing(table(table_name), what, **arguments)
    before = engine.inspect("metadata", table(table_name))
    looked = engine.change(plan, dry_run=True)
    assert engine.inspect("metadata", table(table_name)) == before
    done = engine.change(plan)
    assert {**looked, "dry_run": False} == done
    return done


def refused(engine: LiveEngine, table_name: str, what: ChangeName, **arguments: Any) -> str:
    failed = engine.start_change(changing(table(table_name), what, **arguments)).failed()
    assert (str(failed.where), failed.retryable, bool(failed.hint)) == ("workflow.yaml:30:9", False, True)
    assert table(table_name).address in failed.message
    return failed.code


def job_of(plan: ChangePlan) -> JobPlan:
    return JobPlan("changing", "default", HERE, change=plan)


def test_rolling_back_and_forth(engine: LiveEngine, fresh: str) -> None:
    one, two, three = (engine.run(appending(fresh, n, job=f"j{n}"), run=fresh)[0] for n in (1, 2, 3))
    back = change(engine, fresh, "rollback", snapshot=str(one.snapshot_id))
    assert (back["before"], back["after"], back["changed"]) == (three.snapshot_id, one.snapshot_id, True)
    assert back["undone"] == [{"snapshot_id": each.snapshot_id, "write_ids": [each.write_id]} for each in (three, two)]
    assert ids(engine, fresh) == [1]
    assert not engine.change(changing(table(fresh), "rollback", snapshot=str(one.snapshot_id)))["changed"]
    assert refused(engine, fresh, "rollback", snapshot=str(three.snapshot_id)) == "not-an-ancestor"
    assert refused(engine, fresh, "rollback", snapshot="17") == "snapshot-not-found"
    assert change(engine, fresh, "set_snapshot", snapshot=str(three.snapshot_id))["undone"] == []
    assert ids(engine, fresh) == [1, 2, 3]
    facts = engine.inspect("snapshots", table(fresh))["snapshots"]
    assert len(facts) == 3, "no snapshot comes or goes"
    second = facts[1]["committed_at"]
    assert change(engine, fresh, "rollback", timestamp=second)["after"] == two.snapshot_id
    assert refused(engine, fresh, "rollback", timestamp="2001-01-01T00:00:00Z") == "snapshot-not-found"
    assert refused(engine, fresh, "rollback", timestamp="yesterday") == "bad-timestamp"


def test_a_rolled_back_write_stays_committed_and_a_pending_one_comes_after(
    engine: LiveEngine, filled: Filled, fresh: str
) -> None:
    first = engine.run(appending(fresh, 1))[0]
    engine.run(appending(fresh, 2, job="undone"), run=fresh)
    with held(filled.store, fresh):
        waiting = engine.start_job(appending(fresh, 3, job="waiting"), run=fresh)
        await_pending(filled, fresh, 1)
        back = engine.change(changing(table(fresh), "rollback", snapshot=str(first.snapshot_id)))
        assert back["pending"] == 1
        assert ids(engine, fresh) == [1]
    waiting.done()
    # What was sealed is published once, on what the rollback has left; what was rolled back does not come again.
    engine.run(appending(fresh, 2, job="undone"), run=fresh, number=2)
    [recovered] = engine.recover(table(fresh))
    assert recovered["published"] == []
    assert ids(engine, fresh) == [1, 3]
    # A new run writes the rows anew.
    engine.run(appending(fresh, 2, job="undone"))
    assert ids(engine, fresh) == [1, 2, 3]
    assert engine.rows(f"SELECT count(*) FROM lake.raw.{fresh}.files") == [(3,)]


@pytest.mark.slow
def test_a_commit_that_nobody_told_of_is_found_behind_a_rollback(
    engine: LiveEngine, root: Path, start_engine: Callable[..., LiveEngine], filled: Filled, fresh: str
) -> None:
    first = engine.run(appending(fresh, 1))[0]
    victim = start_engine(lake_depot(root), key="victim", fault="swap-applied:kill")
    assert isinstance(victim.start_job(appending(fresh, 2, job="lost"), run=fresh).answer(), EngineLost)
    end_leases(filled.store, worker_of(victim))
    engine.change(changing(table(fresh), "rollback", snapshot=str(first.snapshot_id)))
    [recovered] = engine.recover(table(fresh))
    assert recovered["published"] == [f"{fresh}/lost/out"], "it was published, and is marked now"
    engine.run(appending(fresh, 2, job="lost"), run=fresh, number=2)
    assert ids(engine, fresh) == [1]


def test_an_overwrite_that_minds_others_minds_a_rollback(engine: LiveEngine, filled: Filled, fresh: str) -> None:
    first = engine.run(appending(fresh, 1))[0]
    engine.run(appending(fresh, 2))
    careful = writing("SELECT 9 AS id, '9' AS word", table(fresh), mode="overwrite-partitions", conflict="fail")
    with held(filled.store, fresh):
        waiting = engine.start_job(careful, run=fresh)
        await_pending(filled, fresh, 1)
        engine.change(changing(table(fresh), "rollback", snapshot=str(first.snapshot_id)))
    assert waiting.failed().code == "partitions-changed"
    assert ids(engine, fresh) == [1]


def test_tags_and_branches(engine: LiveEngine, fresh: str) -> None:
    one, two = (engine.run(appending(fresh, number))[0] for number in (1, 2))
    assert change(engine, fresh, "tag_create", tag="first", snapshot=str(one.snapshot_id))["after"] == one.snapshot_id
    assert change(engine, fresh, "branch_create", branch="side")["after"] == two.snapshot_id
    assert engine.rows(f"SELECT id FROM lake.raw.{fresh} VERSION AS OF 'first'") == [(1,)]
    facts = engine.inspect("table", table(fresh))
    assert facts["tags"] == [{"name": "first", "snapshot_id": one.snapshot_id}]
    assert [each["name"] for each in facts["branches"]] == ["main", "side"]
    assert not engine.change(changing(table(fresh), "branch_create", branch="side"))["changed"]
    assert refused(engine, fresh, "tag_create", tag="side") == "ref-exists"
    assert refused(engine, fresh, "tag_create", tag="first") == "ref-exists"
    assert refused(engine, fresh, "tag_delete", tag="side") == "tag-not-found"
    assert refused(engine, fresh, "branch_delete", branch="first") == "branch-not-found"
    assert refused(engine, fresh, "branch_delete", branch="main") == "change-refused"
    assert change(engine, fresh, "branch_delete", branch="side")["after"] is None
    assert change(engine, fresh, "tag_delete", tag="first")["before"] == one.snapshot_id
    assert engine.inspect("table", table(fresh))["tags"] == []
    assert ids(engine, fresh) == [1, 2]


def test_properties(engine: LiveEngine, fresh: str) -> None:
    engine.run(appending(fresh, 1))
    done = change(engine, fresh, "properties_set", properties={"a": "1", "b": "x=y"})
    assert (done["before"], done["after"]) == ({"a": None, "b": None}, {"a": "1", "b": "x=y"})
    assert not engine.change(changing(table(fresh), "properties_set", properties={"a": "1"}))["changed"]
    assert change(engine, fresh, "properties_unset", names=["a"])["after"] == {"a": None}
    assert refused(engine, fresh, "properties_unset", names=["a"]) == "property-not-found"
    assert refused(engine, fresh, "properties_set", properties={"catchment.changed": "x"}) == "change-refused"
    said = engine.inspect("table", table(fresh))["properties"]
    assert (said["b"], json.loads(said["catchment.changed"])["by"]) == ("x=y", "somebody")
    forgetful = {"write.metadata.delete-after-commit.enabled": "true"}
    engine.change(changing(table(fresh), "set_version", value="latest"))
    assert refused(engine, fresh, "properties_set", properties=forgetful) == "metadata-not-kept"


def test_columns(engine: LiveEngine, fresh: str) -> None:
    engine.run(appending(fresh, 1))
    change(engine, fresh, "column_add", column="place", type="struct<city: string>", comment="where")
    change(engine, fresh, "column_add", column="place.zip", type="int")
    assert not engine.change(changing(table(fresh), "column_add", column="id", type="int"))["changed"]
    assert refused(engine, fresh, "column_add", column="id", type="string") == "column-twice"
    assert refused(engine, fresh, "column_add", column="x", type="nonsense") == "schema-invalid"
    change(engine, fresh, "column_widen", column="id", type="bigint")
    assert refused(engine, fresh, "column_widen", column="id", type="int") == "change-refused"
    assert refused(engine, fresh, "column_widen", column="word", type="array<int>") == "change-refused"
    done = change(engine, fresh, "column_rename", column="word", to="text")
    assert [each["name"] for each in done["after"]] == ["id", "text", "place"]
    assert refused(engine, fresh, "column_rename", column="word", to="text") == "column-not-found"
    assert refused(engine, fresh, "column_rename", column="text", to="id") == "change-refused"
    change(engine, fresh, "column_drop", column="place")
    assert refused(engine, fresh, "column_drop", column="place") == "column-not-found"
    facts = engine.inspect("table", table(fresh))["columns"]
    assert [(each["name"], each["type"]) for each in facts] == [("id", "long"), ("text", "string")]
    assert engine.rows(f"SELECT id, text FROM lake.raw.{fresh}") == [(1, "1")]


def test_sealed_writes_of_an_older_form_are_published_into_the_new_one(
    engine: LiveEngine, filled: Filled, fresh: str
) -> None:
    engine.run(appending(fresh, 1))
    with held(filled.store, fresh):
        waiting = engine.start_job(appending(fresh, 2), run=fresh)
        await_pending(filled, fresh, 1)
        for what, arguments in (
            ("column_widen", {"column": "id", "type": "bigint"}),
            ("column_rename", {"column": "id", "to": "number"}),
            ("column_add", {"column": "note", "type": "string"}),
            ("column_drop", {"column": "word"}),
            ("partition_add", {"type": "bucket", "column": "number", "numBuckets": 4}),
        ):
            assert engine.change(changing(table(fresh), what, **arguments))["changed"]  # type: ignore[arg-type]
    waiting.done()
    assert engine.rows(f"SELECT number, note FROM lake.raw.{fresh} ORDER BY 1") == [(1, None), (2, None)]


def test_partitions(engine: LiveEngine, fresh: str) -> None:
    engine.run(appending(fresh, 1, 2))
    done = change(engine, fresh, "partition_add", type="bucket", column="id", numBuckets=4, asColumn="shard")
    assert (done["before"], done["after"]) == ([], [{"name": "shard", "transform": "bucket[4]", "column": "id"}])
    again = changing(table(fresh), "partition_add", type="bucket", column="id", numBuckets=4)
    assert not engine.change(again)["changed"]
    change(engine, fresh, "partition_replace", field="shard", type="bucket", column="id", numBuckets=8)
    assert refused(engine, fresh, "partition_add", type="day", column="id") == "change-refused"
    assert refused(engine, fresh, "partition_add", type="bucket", column="id") == "partition-invalid"
    assert refused(engine, fresh, "partition_drop", field="shard") == "partition-invalid"
    engine.run(appending(fresh, 3))
    found = engine.inspect("table", table(fresh))["partitions"]
    assert found == [{"name": "id_bucket_8", "transform": "bucket[8]", "column": "id"}]
    change(engine, fresh, "partition_drop", field="id_bucket_8")
    assert engine.inspect("table", table(fresh))["partitions"] == []
    assert ids(engine, fresh) == [1, 2, 3]


@pytest.mark.parametrize("what", ["column_rename", "rollback"])
def test_a_job_that_is_run_again_changes_nothing_twice(engine: LiveEngine, fresh: str, what: ChangeName) -> None:
    first = engine.run(appending(fresh, 1))[0]
    engine.run(appending(fresh, 2))
    arguments = {"column": "word", "to": "text"} if what == "column_rename" else {"snapshot": str(first.snapshot_id)}
    plan = job_of(changing(table(fresh), what, **arguments))
    engine.run(plan, run=fresh)
    engine.run(writing("SELECT 3 AS id", table(fresh), mode="append", merge_schema=True))
    before = engine.inspect("metadata", table(fresh))
    engine.run(plan, run=fresh, number=2)
    assert engine.inspect("metadata", table(fresh)) == before
    assert len(ids(engine, fresh)) == (3 if what == "column_rename" else 2)

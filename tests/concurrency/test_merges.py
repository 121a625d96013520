"""Row-level changes from several engines at once, and from engines that are killed: none lost, none twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from catchment.engine.protocol import Facts, Failed
from catchment.errors import EngineLost
from catchment.formats.iceberg.row_changes import STARVED_AFTER
from catchment.plan.model import JobPlan
from tests.concurrency.invariants import check, ids
from tests.concurrency.waiting import worker_of
from tests.ledgers import Filled, end_leases, forget_engine
from tests.matrices import exhaustive
from tests.spark.lake import LiveEngine, deleting, lake_depot, merging, table, writing

Start = Callable[..., LiveEngine]

POINTS = ("before-own-commit", "own-commit-applied")
MOST_ROUNDS = 20
MOST_APPENDS = 200
ADD = "MATCHED THEN UPDATE SET amount = old.amount + new.amount"


@pytest.fixture
def rival(elsewhere: LiveEngine) -> LiveEngine:
    """A second engine on the same lake."""
    return elsewhere


def accounts(name: str) -> JobPlan:
    return writing("SELECT id, 0 AS amount FROM range(4)", table(name), name="base")


def adding(name: str, amount: int, job: str, accounts: int = 4) -> JobPlan:
    sql = f"SELECT id, {amount} AS amount FROM range({accounts})"
    return merging(sql, table(name), "old.id = new.id", ADD, name=job)


def appending(name: str, id: int, **options: str) -> JobPlan:
    sql = f"SELECT {id}L AS id, 0 AS amount"
    return writing(sql, table(name), name=f"append-{id}", mode="append", options=options)


def amounts(engine: LiveEngine, name: str) -> list[int]:
    return [row[0] for row in engine.rows(f"SELECT amount FROM lake.raw.{name} WHERE id < 4 ORDER BY id")]


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_a_merge_whose_engine_is_killed_is_applied_once(
    engine: LiveEngine, filled: Filled, root: Path, start_engine: Start, fresh: str, point: str
) -> None:
    engine.run(accounts(fresh))
    victim = start_engine(lake_depot(root), key="victim", fault=f"{point}:kill")
    assert isinstance(victim.start_job(adding(fresh, 5, "lost"), run=f"r-{fresh}").answer(), EngineLost)
    end_leases(filled.store, worker_of(victim))
    engine.run(adding(fresh, 100, "other"))
    [report] = engine.run(adding(fresh, 5, "lost"), run=f"r-{fresh}", number=2)
    assert (report.rows, amounts(engine, fresh)) == (4, [105] * 4)
    assert filled.states(f"r-{fresh}/lost/out") == ["committed"]
    assert filled.left(table(fresh).address) == []
    check(engine, fresh)


@pytest.mark.slow
@pytest.mark.parametrize("condition", ["target.id < 2", *exhaustive("target.id >= 0")])
def test_a_deletion_whose_engine_is_killed_takes_place_once(
    engine: LiveEngine, filled: Filled, root: Path, start_engine: Start, fresh: str, condition: str
) -> None:
    engine.run(accounts(fresh))
    cleaning = deleting(table(fresh), condition)
    victim = start_engine(lake_depot(root), key="victim", fault="own-commit-applied:kill")
    assert isinstance(victim.start_job(cleaning, run=f"r-{fresh}").answer(), EngineLost)
    end_leases(filled.store, worker_of(victim))
    again = writing("SELECT id, 1 AS amount FROM range(2)", table(fresh), name="again", mode="append")
    engine.run(again)
    [report] = engine.run(cleaning, run=f"r-{fresh}", number=2)
    assert report.rows == (2 if "<" in condition else 4)
    assert amounts(engine, fresh)[:2] == [1, 1]
    check(engine, fresh)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_branch_brought_forward_loses_nothing_that_is_appended_to_main_meanwhile(
    engine: LiveEngine, rival: LiveEngine, fresh: str
) -> None:
    expected = set(range(4))
    for number in range(1, 6):
        engine.run(accounts(fresh) if number == 1 else appending(fresh, 100 * number))
        expected |= set() if number == 1 else {100 * number}
        engine.run(appending(fresh, 100 * number + 1, branch="audit"))
        moving = rival.start_forward(table(fresh), "audit")
        engine.run(appending(fresh, 100 * number + 2))
        expected.add(100 * number + 2)
        if isinstance(answer := moving.answer(), Facts):
            expected.add(100 * number + 1)
        else:
            assert isinstance(answer, Failed)
            assert answer.code == "branch-diverged"
        engine.ask(f"ALTER TABLE lake.raw.{fresh} DROP BRANCH audit")
        assert set(ids(engine, fresh)) == expected


@pytest.mark.slow
def test_recovery_finds_out_what_became_of_merges(
    engine: LiveEngine, filled: Filled, root: Path, start_engine: Start, fresh: str
) -> None:
    engine.run(accounts(fresh))
    for point, job in (("own-commit-applied", "there"), ("before-own-commit", "not")):
        victim = start_engine(lake_depot(root), key=job, fault=f"{point}:kill")
        assert isinstance(victim.start_job(adding(fresh, 5, job), run=f"r-{fresh}").answer(), EngineLost)
        end_leases(filled.store, worker_of(victim))
    for job in ("there", "not"):  # only now: each of them would settle what it knows to be lost
        forget_engine(filled.store, filled.find(f"r-{fresh}/{job}/out").intent.owner)
    [recovered] = engine.recover(table(fresh))
    assert recovered["error"] is None
    assert recovered["published"] == [f"r-{fresh}/there/out"]
    assert recovered["abandoned"] == [f"r-{fresh}/not/out"]
    assert (recovered["removed"], recovered["kept"]) == ([], [])
    engine.run(adding(fresh, 5, "not"), run=f"r-{fresh}", number=2)
    assert amounts(engine, fresh) == [10] * 4


@pytest.mark.slow
def test_an_answer_lost_after_a_merge_is_no_second_merge(root: Path, start_engine: Start, fresh: str) -> None:
    deaf = start_engine(lake_depot(root), key="deaf", fault="own-commit-applied:lose")
    deaf.run(accounts(fresh))
    [report] = deaf.run(adding(fresh, 5, "heard"))
    assert (report.rows, amounts(deaf, fresh)) == (4, [5] * 4)


@pytest.mark.slow
def test_a_merge_that_is_overtaken_is_evaluated_again_on_what_others_left(
    engine: LiveEngine, rival: LiveEngine, fresh: str
) -> None:
    engine.run(accounts(fresh))
    for number in range(1, MOST_ROUNDS):
        pending = engine.start_job(adding(fresh, 1, f"merge-{number}", accounts=100))
        pending.wait_for("writing")
        rival.ask(f"INSERT INTO lake.raw.{fresh} VALUES ({10 + number}, 0)")
        pending.done()
        assert amounts(engine, fresh) == [number] * 4
        if any("trying again" in str(note.data) for note in pending.notes):
            assert engine.value(f"SELECT amount FROM lake.raw.{fresh} WHERE id = {10 + number}") == 1
            break
    else:
        pytest.fail("none of the merges was overtaken")
    check(engine, fresh)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_many_small_appends_do_not_keep_a_merge_from_finishing(
    engine: LiveEngine, rival: LiveEngine, fresh: str
) -> None:
    engine.run(accounts(fresh))
    pending = engine.start_job(adding(fresh, 1, "merge", accounts=1000))
    for number in range(5, MOST_APPENDS):
        rival.run(appending(fresh, number))
        if pending.is_answered():
            break
    pending.done()
    assert amounts(engine, fresh) == [1] * 4
    overtaken = [note for note in pending.notes if "trying again" in str(note.data)]
    assert len(overtaken) <= STARVED_AFTER
    check(engine, fresh)


def test_merges_and_appends_of_two_engines_lose_no_update(engine: LiveEngine, rival: LiveEngine, fresh: str) -> None:
    engine.run(accounts(fresh))
    pending = []
    for number, live in enumerate((engine, rival, engine)):
        pending.append(live.start_job(adding(fresh, 10**number, f"merge-{number}")))
        more = f"SELECT id + {4 + 10 * number} AS id, 1 AS amount FROM range(5)"
        pending.append(live.start_job(writing(more, table(fresh), name=f"append-{number}", mode="append")))
    assert [attempt.done()[0].rows for attempt in pending] == [4, 5] * 3
    assert amounts(engine, fresh) == [111] * 4
    assert engine.value(f"SELECT count(DISTINCT id) FROM lake.raw.{fresh}") == 19
    check(engine, fresh)


def test_two_engines_that_only_insert_do_not_insert_twice(engine: LiveEngine, rival: LiveEngine, fresh: str) -> None:
    engine.run(accounts(fresh))
    job = merging(
        "SELECT id, 1 AS amount FROM range(2, 8)", table(fresh), "old.id = new.id", "NOT MATCHED THEN INSERT *"
    )
    reports = [attempt.done()[0] for attempt in [live.start_job(job) for live in (engine, rival, engine)]]
    assert sorted(int(report.rows or 0) for report in reports) == [0, 0, 4]
    assert [row[0] for row in engine.rows(f"SELECT id FROM lake.raw.{fresh} ORDER BY id")] == list(range(8))

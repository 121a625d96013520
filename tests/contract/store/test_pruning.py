"""What is old and over is removed in small steps; what anybody may still need stays."""

from __future__ import annotations

import pytest
from sqlalchemy import TableClause, func, select, update

from catchment.commit.upkeep import take_turn
from catchment.errors import LeaseLost
from catchment.run_model import RunRequest
from catchment.store import Store, schema
from catchment.store.database import database_time
from catchment.store.records import EventRecord
from catchment.store.runs import lease_name
from catchment.store.states import InputWindow, Window
from catchment.store.states import lease_name as job_lease_name
from catchment.store.writes import FATE_UNKNOWN, WriteMode
from tests.ledgers import ALIVE, TARGET, Filled, intent

DAYS = 30
OLD_SECONDS = (DAYS + 1) * 86400.0
JOB = ("flow", "job")


def age(store: Store) -> None:
    """As if everything had happened longer ago than it is kept."""
    old = database_time() - OLD_SECONDS
    with store.database.writing() as connection:
        connection.execute(update(schema.writes).where(schema.writes.c.finished.is_not(None)).values(finished=old))
        connection.execute(update(schema.windows).where(schema.windows.c.finished.is_not(None)).values(finished=old))
        connection.execute(update(schema.runs).values(started=1.0))
        connection.execute(update(schema.events).values(at=1.0))


def count(store: Store, table: TableClause) -> int:
    with store.database.reading() as connection:
        return connection.scalar(select(func.count()).select_from(table)) or 0


def test_a_committed_write_is_known_as_committed_for_ever(filled: Filled) -> None:
    filled.commit("r/j/1", 7)
    age(filled.store)
    assert filled.store.pruning.prune(DAYS) == 1
    assert count(filled.store, schema.writes) == 0
    known = filled.find("r/j/1")
    assert (known.state, known.snapshot_id, known.intent.target) == ("committed", 7, TARGET)
    assert known.contents is not None
    assert (known.contents.rows, known.contents.bytes, known.contents.files) == (10, 100, 1)
    assert filled.ledger.open(intent("r/j/1")) == known
    assert count(filled.store, schema.writes) == 0


def test_the_same_id_may_be_written_to_another_address(filled: Filled) -> None:
    filled.commit("r/j/1", 7)
    age(filled.store)
    filled.store.pruning.prune(DAYS)
    elsewhere = f"{TARGET}_other"
    filled.commit("r/j/1", 8, target=elsewhere)
    age(filled.store)
    filled.store.pruning.prune(DAYS)
    assert (filled.find("r/j/1").intent.target, filled.find("r/j/1").snapshot_id) == (elsewhere, 8)


def test_what_was_committed_before_is_known_although_another_address_was_given_up(filled: Filled) -> None:
    filled.commit("r/j/1", 7)
    age(filled.store)
    filled.store.pruning.prune(DAYS)
    filled.abandon("r/j/1", target=f"{TARGET}_other")
    age(filled.store)
    assert filled.store.pruning.prune(DAYS) == 1
    assert (filled.find("r/j/1").intent.target, filled.find("r/j/1").snapshot_id) == (TARGET, 7)


def test_an_abandoned_write_may_be_begun_again_and_its_buffer_is_still_to_be_removed(filled: Filled) -> None:
    left = filled.abandon("r/j/1").intent.buffer
    age(filled.store)
    assert filled.store.pruning.prune(DAYS) == 1
    assert filled.left() == [left]
    assert filled.ledger.find("r/j/1") is None
    assert filled.open("r/j/1", buffer="another").state == "open"


def test_what_is_not_settled_stays(filled: Filled) -> None:
    filled.open("r/j/open")
    filled.seal("r/j/sealed")
    filled.abandon("r/j/unknown", {"code": FATE_UNKNOWN, "message": "who knows"})
    filled.commit("r/j/new", 1)
    age(filled.store)
    with filled.store.database.writing() as connection:
        new = update(schema.writes).where(schema.writes.c.write_id == "r/j/new")
        connection.execute(new.values(finished=database_time() - OLD_SECONDS / 2))
    assert filled.store.pruning.prune(DAYS) == 0
    assert filled.states("r/j/open", "r/j/sealed", "r/j/unknown", "r/j/new") == [
        *("open", "sealed", "abandoned", "committed")
    ]


@pytest.mark.parametrize(
    ("code", "mode", "gone"),
    [
        ("schema-mismatch", "merge", True),
        ("engine-lost", "merge", False),  # a resumed run looks for it from where this attempt began
        (FATE_UNKNOWN, "merge", False),
        ("engine-lost", "maintain", True),  # changes no row, and is simply done again
    ],
)
def test_what_a_format_commits_itself_goes_once_nobody_looks_for_it(
    filled: Filled, code: str, mode: WriteMode, gone: bool
) -> None:
    given_up = filled.open("r/j/1", buffer="r.j.1.1", buffered=False, mode=mode)
    filled.ledger.abandon(given_up, {"code": code, "message": "", "hint": ""})
    age(filled.store)
    assert filled.store.pruning.prune(DAYS) == int(gone)


def test_it_goes_in_small_steps(filled: Filled) -> None:
    for number in range(5):
        filled.commit(f"r/j/{number}", number)
    age(filled.store)
    assert [filled.store.pruning.prune(DAYS, limit=2) for _ in range(4)] == [2, 2, 1, 0]


def test_engines_take_turns(filled: Filled) -> None:
    filled.commit("r/j/1", 1)
    age(filled.store)
    assert take_turn(filled.store, ALIVE, DAYS) == 1
    filled.commit("r/j/2", 2)
    age(filled.store)
    assert take_turn(filled.store, "engine/other", DAYS) == 0
    assert filled.ledger.state("r/j/2") == "committed"


def _run(store: Store, run_id: str, status: str, *, alive: bool = False, done: str | None = None) -> None:
    lease = store.leases.acquire(lease_name(run_id), "me", 600.0)
    progress = store.progress(lease, run_id)
    progress.begin(RunRequest("2024"), workflow="flow", file="f", job_names=["job"], at=1.0)
    for moment in (1.0, 2.0, 3.0):
        store.events.append(lease, run_id, EventRecord(moment, "run-started", None, None, None, {}))
    if done:
        progress.job_ends(done, 1, "succeeded", at=1.5)
    if status != "running":
        progress.finish(status, 2.0)
    if not alive:
        store.leases.release(lease)


def test_events_go_and_their_run_stays(store: Store) -> None:
    _run(store, "r1", "succeeded")
    _run(store, "r2", "running", alive=True)
    _run(store, "r3", "running")  # it died
    age(store)
    store.pruning.prune(DAYS)
    assert [len(store.events.of_run(run_id)) for run_id in ("r1", "r2", "r3")] == [0, 3, 0]
    assert {run.id for run in store.runs.newest(10)} == {"r1", "r2", "r3"}


def _window(store: Store, run_id: str, *, finished: bool = True) -> Window:
    lease = store.leases.acquire(job_lease_name(*JOB), "me", 600.0)
    part = {"in": InputWindow({"k": "1"}, {"k": "2"}, "UTC")}
    [opened] = store.states.open(lease, [Window(*JOB, 0, "run", "open", run_id, part, runs=(run_id,))])
    if finished:
        store.states.finish(lease, opened)
    store.leases.release(lease)
    return opened


def test_windows_go_once_no_run_can_ask_for_them_again(store: Store) -> None:
    for run_id, status in (("r1", "succeeded"), ("r2", "failed"), ("r3", "succeeded"), ("r4", "succeeded")):
        _run(store, run_id, status)
        _window(store, run_id, finished=run_id != "r3")
    age(store)
    store.pruning.prune(DAYS)
    left = store.states.windows(*JOB)
    assert [window.identity for window in left] == ["r4", "r3", "r2"]  # the newest, the open one, one to be resumed
    assert count(store, schema.window_runs) == 3
    assert _window(store, "r5").number == 5
    assert store.states.of_job(*JOB)["in"].keys == {"k": "2"}


def test_a_window_goes_although_another_job_of_its_run_failed(store: Store) -> None:
    _run(store, "r1", "failed", done="job")
    _run(store, "r2", "succeeded")
    for run_id in ("r1", "r2"):
        _window(store, run_id)
    age(store)
    store.pruning.prune(DAYS)
    assert [window.identity for window in store.states.windows(*JOB)] == ["r2"]


def test_what_is_known_of_an_engine_goes_with_its_lease(store: Store) -> None:
    for name in ("engine/a:1:x", "engine/a:2:y"):
        store.engines.here(name, 600.0)
        store.engines.describe(name, "default", "4.1.2", "local[*]")
    with store.database.writing() as connection:
        gone = schema.leases.c.name == "engine/a:1:x"
        connection.execute(update(schema.leases).where(gone).values(expires=0.0))
    store.pruning.prune(DAYS)
    assert [living.name for living in store.engines.living()] == ["engine/a:2:y"]
    assert count(store, schema.engines) == 1


def test_nobody_gives_back_the_lease_of_another(store: Store) -> None:
    early = store.leases.acquire("run/r1", "me", 0.0)
    with store.database.writing() as connection:
        connection.execute(update(schema.leases).values(expires=0.0))
    store.pruning.prune(DAYS)
    late = store.leases.acquire("run/r1", "you", 600.0)
    assert late.fence == early.fence  # its count began anew
    store.leases.release(early)
    assert store.leases.holder("run/r1") is not None
    with pytest.raises(LeaseLost):
        store.leases.renew(early, 600.0)


@pytest.mark.parametrize(
    "name", ["engine/a:1:x", "scheduler/a:1:x", "table/a", "job/flow/job", "run/r1", "run/r2", "run/r3"]
)
def test_only_leases_whose_holders_have_names_of_their_own_go(filled: Filled, name: str) -> None:
    store = filled.store
    for run_id, status in (("r1", "succeeded"), ("r2", "failed"), ("r3", "running")):
        _run(store, run_id, status)
    fence = store.leases.acquire(name, "me", 0.0).fence
    store.pruning.prune(DAYS)
    assert store.leases.acquire(name, "you", 0.0).fence == fence + 1  # it ran out a moment ago, not a day
    with store.database.writing() as connection:
        connection.execute(update(schema.leases).values(expires=0.0))
    store.pruning.prune(DAYS)
    gone = store.leases.acquire(name, "me", 600.0).fence == 1
    assert gone == name.startswith(("engine/", "scheduler/", "run/"))


def test_the_lease_of_an_engine_stays_as_long_as_its_open_writes(filled: Filled) -> None:
    filled.store.engines.here("engine/lost", 0.0)
    filled.open("r/j/1", owner="engine/lost")
    with filled.store.database.writing() as connection:
        connection.execute(update(schema.leases).values(expires=1.0))
    assert filled.store.pruning.prune(DAYS) == 0
    assert filled.store.engines.missed() == 1

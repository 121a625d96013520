"""The ledger: open -> sealed -> committed, or abandoned. A seal is a promise; only the newest attempt can give it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import select, text

from catchment.errors import EngineLost, JobError, Retryable
from catchment.store import Store
from catchment.store.ledger import Ledger, WritesMoved
from catchment.store.schema import writes
from catchment.store.writes import Contents, Entry, Intent
from tests.contract.store.writes import CONTENTS, ERROR, NOTHING, TABLE, intent

OTHER = "dataos://lake:raw/zones"


def _sealed(ledger: Ledger, write_id: str, *, target: str = TABLE, contents: Contents = CONTENTS) -> Intent:
    begun = intent(write_id, target=target)
    ledger.open(begun)
    ledger.seal(begun, contents)
    return begun


def _found(ledger: Ledger, write_id: str) -> Entry:
    write = ledger.find(write_id)
    assert write is not None
    return write


def test_a_write_that_begins_is_open_and_unseen(ledger: Ledger) -> None:
    begun = intent()
    write = ledger.open(begun)
    assert write == Entry(begun, "open", tried=False, contents=None, snapshot_id=None, error=None)
    assert ledger.find(begun.write_id) == write
    assert ledger.state(begun.write_id) == "open"
    assert ledger.pending(TABLE, limit=10) == ()
    assert ledger.leftovers(TABLE) == ()


def test_an_unknown_write_is_none(ledger: Ledger) -> None:
    assert ledger.find("no/such/write") is None
    assert ledger.state("no/such/write") is None


def test_a_table_without_a_snapshot_is_remembered_as_such(ledger: Ledger) -> None:
    begun = intent()
    fresh = replace(begun, base=replace(begun.base, snapshot_id=None, sequence=-1))
    ledger.open(fresh)
    assert _found(ledger, fresh.write_id).intent == fresh


def test_a_sealed_write_waits_with_everything_that_is_needed_to_publish_it(ledger: Ledger) -> None:
    begun = _sealed(ledger, "r1/a/out")
    assert ledger.pending(TABLE, limit=10) == (Entry(begun, "sealed", False, CONTENTS, None, None, number=1),)
    assert ledger.count_pending(TABLE) == 1


def test_an_empty_buffer_can_be_sealed(ledger: Ledger) -> None:
    _sealed(ledger, "r1/a/out", contents=NOTHING)
    assert _found(ledger, "r1/a/out").contents == NOTHING


def test_what_a_write_was_computed_from_is_remembered_attempt_by_attempt(ledger: Ledger) -> None:
    first = replace(intent(attempt=1), inputs={"trips": "snapshot 1", "zönes": "2 files of 18 bytes"})
    ledger.open(first)
    assert _found(ledger, first.write_id).intent == first
    second = replace(intent(attempt=2), inputs={"trips": "snapshot 2"})
    ledger.open(second)
    assert _found(ledger, first.write_id).intent.inputs == {"trips": "snapshot 2"}


def test_very_many_descriptors_fit(ledger: Ledger) -> None:
    many = tuple({"file-path": f"s3a://lake/part-{n:06}.parquet", "record-count": n} for n in range(20_000))
    _sealed(ledger, "r1/a/out", contents=Contents(many, 1, 2**40, len(many)))
    assert _found(ledger, "r1/a/out").contents == Contents(many, 1, 2**40, len(many))


def test_a_lost_attempt_leaves_its_buffer_to_be_removed(ledger: Ledger) -> None:
    first, second = intent(attempt=1), intent(attempt=2)
    ledger.open(first)
    assert ledger.open(second).state == "open"
    assert _found(ledger, first.write_id).intent == second
    assert ledger.leftovers(TABLE) == ((first.write_id, first.buffer),)


def test_an_attempt_that_was_superseded_cannot_seal(ledger: Ledger) -> None:
    first, second = intent(attempt=1), intent(attempt=2)
    ledger.open(first)
    ledger.open(second)
    with pytest.raises(EngineLost) as caught:
        ledger.seal(first, CONTENTS)
    assert caught.value.code == "write-superseded"
    assert isinstance(caught.value, Retryable)
    ledger.seal(second, CONTENTS)
    assert _found(ledger, first.write_id).intent == second


def test_an_attempt_that_did_not_hear_the_answer_asks_again_and_changes_nothing(ledger: Ledger) -> None:
    begun = intent()
    for _ in range(2):
        assert ledger.open(begun).state == "open"
    assert ledger.leftovers(TABLE) == ()
    ledger.seal(begun, CONTENTS)
    ledger.seal(begun, NOTHING)
    assert _found(ledger, begun.write_id).contents == CONTENTS
    ledger.mark_committed(TABLE, {begun.write_id: 7})
    ledger.seal(begun, CONTENTS)
    assert (_found(ledger, begun.write_id).state, _found(ledger, begun.write_id).snapshot_id) == ("committed", 7)


def test_a_seal_that_fails_takes_no_number(ledger: Ledger, store: Store) -> None:
    _sealed(ledger, "r1/a/out")
    with pytest.raises(EngineLost):
        ledger.seal(intent("r1/never-opened/out"), CONTENTS)
    _sealed(ledger, "r1/b/out")
    assert _numbers(store) == {"r1/a/out": 1, "r1/b/out": 2}


def test_what_is_sealed_or_committed_stays_when_it_is_opened_again(ledger: Ledger) -> None:
    begun = _sealed(ledger, "r1/a/out")
    again = intent("r1/a/out", attempt=2)
    assert ledger.open(again) == Entry(begun, "sealed", False, CONTENTS, None, None, number=1)
    ledger.mark_committed(TABLE, {"r1/a/out": 7})
    assert (ledger.open(again).state, ledger.open(again).snapshot_id) == ("committed", 7)
    assert _found(ledger, "r1/a/out").intent == begun
    assert ledger.leftovers(TABLE) == ()


def test_a_write_that_is_sent_to_another_table_begins_anew_there_once_its_promise_is_kept(ledger: Ledger) -> None:
    first = intent()
    ledger.open(first)
    ledger.seal(first, CONTENTS)
    second = intent(attempt=2, target=OTHER)
    with pytest.raises(JobError) as refused:
        ledger.open(second)
    assert refused.value.code == "write-elsewhere"
    ledger.mark_committed(TABLE, {first.write_id: 7})
    assert ledger.open(second).state == "open"
    assert ledger.leftovers(TABLE) == ()


def test_sealed_writes_come_in_the_order_of_their_seals(ledger: Ledger, store: Store) -> None:
    for name in ("c", "a", "b"):
        ledger.open(intent(f"r1/{name}/out"))
    for name in ("b", "c", "a"):
        ledger.seal(intent(f"r1/{name}/out"), CONTENTS)
    assert [write.write_id for write in ledger.pending(TABLE, limit=10)] == ["r1/b/out", "r1/c/out", "r1/a/out"]
    assert [write.write_id for write in ledger.pending(TABLE, limit=2)] == ["r1/b/out", "r1/c/out"]
    assert _numbers(store) == {"r1/b/out": 1, "r1/c/out": 2, "r1/a/out": 3}


def test_numbers_grow_on_after_everything_was_published(ledger: Ledger, store: Store) -> None:
    _sealed(ledger, "r1/a/out")
    ledger.mark_committed(TABLE, {"r1/a/out": 7})
    _sealed(ledger, "r1/b/out")
    assert _numbers(store) == {"r1/a/out": 1, "r1/b/out": 2}


def test_no_two_seals_of_a_table_can_have_one_number(ledger: Ledger, store: Store) -> None:
    _sealed(ledger, "r1/a/out")
    _sealed(ledger, "r1/b/out")
    with pytest.raises(Exception, match=r"(?i)unique"), store.database.writing() as connection:
        connection.execute(text("UPDATE writes SET number = 1"))


def test_tables_do_not_meet(ledger: Ledger) -> None:
    _sealed(ledger, "r1/a/out")
    _sealed(ledger, "r1/a/zones", target=OTHER)
    ledger.open(intent("r1/b/zones", target=OTHER))
    assert [write.write_id for write in ledger.pending(OTHER, limit=10)] == ["r1/a/zones"]
    assert (ledger.count_pending(TABLE), ledger.count_pending(OTHER)) == (1, 1)
    assert [write.write_id for write in ledger.ownerless(OTHER)] == ["r1/b/zones"]
    assert tuple(ledger.unfinished()) == (TABLE, OTHER)


def test_a_swap_that_may_have_been_sent_is_remembered(ledger: Ledger) -> None:
    for name in ("a", "b", "c"):
        _sealed(ledger, f"r1/{name}/out")
    ledger.mark_tried([_found(ledger, "r1/c/out"), _found(ledger, "r1/a/out")])
    ledger.mark_tried([])
    assert [write.tried for write in ledger.pending(TABLE, limit=10)] == [True, False, True]


def test_what_files_will_change_is_recorded_once_before_the_first_change(ledger: Ledger) -> None:
    _sealed(ledger, "r1/a/out")
    read = _found(ledger, "r1/a/out")
    plan = replace(CONTENTS, descriptors=({"add": "p=ü/new", "staged": "s", "bytes": 1}, {"remove": "p=ü/old"}))
    ledger.mark_planned(read, plan)
    [known] = ledger.pending(TABLE, limit=10)
    assert (known.tried, known.contents) == (True, plan)
    with pytest.raises(WritesMoved):  # somebody who slept since he read it
        ledger.mark_planned(read, CONTENTS)
    ledger.mark_committed(TABLE, {"r1/a/out": None})
    with pytest.raises(WritesMoved):
        ledger.mark_planned(known, CONTENTS)


def test_committed_writes_wait_no_more_and_know_their_snapshot(ledger: Ledger) -> None:
    for name in ("a", "b", "c"):
        _sealed(ledger, f"r1/{name}/out")
    ledger.mark_committed(TABLE, {"r1/c/out": 2**62, "r1/a/out": None})
    assert [write.write_id for write in ledger.pending(TABLE, limit=10)] == ["r1/b/out"]
    done = _found(ledger, "r1/c/out")
    assert (done.state, done.snapshot_id) == ("committed", 2**62)
    assert done.contents == replace(CONTENTS, descriptors=())
    assert _found(ledger, "r1/a/out").snapshot_id is None


def test_marking_committed_again_changes_nothing(ledger: Ledger, store: Store) -> None:
    _sealed(ledger, "r1/a/out")
    ledger.mark_committed(TABLE, {})
    ledger.mark_committed(TABLE, {"r1/a/out": 7})
    with store.database.reading() as connection:
        before = connection.execute(select(writes)).all()
    ledger.mark_committed(TABLE, {"r1/a/out": 8})
    with store.database.reading() as connection:
        assert connection.execute(select(writes)).all() == before


def test_an_abandoned_write_says_why_and_leaves_its_buffer(ledger: Ledger) -> None:
    begun = _sealed(ledger, "r1/a/out")
    assert ledger.abandon(_found(ledger, "r1/a/out"), ERROR)
    given_up = _found(ledger, "r1/a/out")
    assert (given_up.state, given_up.error) == ("abandoned", ERROR)
    assert ledger.pending(TABLE, limit=10) == ()
    assert ledger.leftovers(TABLE) == (("r1/a/out", begun.buffer),)
    assert not ledger.abandon(given_up, ERROR)


def test_an_abandoned_write_can_begin_anew_and_be_sealed(ledger: Ledger) -> None:
    _sealed(ledger, "r1/a/out")
    ledger.mark_tried([_found(ledger, "r1/a/out")])
    ledger.abandon(_found(ledger, "r1/a/out"), ERROR)
    again = intent("r1/a/out", attempt=2)
    assert ledger.open(again) == ledger.find("r1/a/out") == Entry(again, "open", False, None, None, None)
    ledger.seal(again, CONTENTS)
    assert ledger.pending(TABLE, limit=10) == (Entry(again, "sealed", False, CONTENTS, None, None, number=2),)
    assert len(ledger.leftovers(TABLE)) == 1


def test_what_was_sealed_meanwhile_is_not_abandoned_as_open(ledger: Ledger) -> None:
    """Recovery read the write while its engine was silent; then the engine woke up and sealed."""
    begun = intent()
    seen = ledger.open(begun)
    ledger.seal(begun, CONTENTS)
    assert not ledger.abandon(seen, ERROR)
    assert ledger.state(begun.write_id) == "sealed"
    assert ledger.leftovers(TABLE) == ()


def test_an_older_attempt_cannot_abandon_its_successor(ledger: Ledger) -> None:
    seen = ledger.open(intent(attempt=1))
    ledger.open(intent(attempt=2))
    assert not ledger.abandon(seen, ERROR)
    assert ledger.state(seen.write_id) == "open"


def test_what_is_in_the_history_is_committed_even_if_it_was_given_up(ledger: Ledger) -> None:
    _sealed(ledger, "r1/a/out")
    ledger.abandon(_found(ledger, "r1/a/out"), ERROR)
    ledger.mark_committed(TABLE, {"r1/a/out": 7})
    write = _found(ledger, "r1/a/out")
    assert (write.state, write.snapshot_id, write.error) == ("committed", 7, None)
    assert ledger.leftovers(TABLE) == ()


def test_a_committed_write_is_never_abandoned(ledger: Ledger) -> None:
    _sealed(ledger, "r1/a/out")
    seen = _found(ledger, "r1/a/out")
    ledger.mark_committed(TABLE, {"r1/a/out": 7})
    assert not ledger.abandon(seen, ERROR)
    assert not ledger.abandon(_found(ledger, "r1/a/out"), ERROR)
    assert ledger.state("r1/a/out") == "committed"


def test_open_writes_without_a_living_engine_are_ownerless(ledger: Ledger, store: Store) -> None:
    store.leases.acquire("engine/alive", "engine/alive", 600.0)
    store.engines.here("engine/late", 600.0)
    store.engines.ended("engine/late")
    for owner in ("alive", "late", "unknown"):
        ledger.open(intent(f"r1/{owner}/out", owner=f"engine/{owner}"))
    ledger.open(intent("r1/elsewhere/out", owner="engine/unknown", target=OTHER))
    sealed = intent("r1/sealed/out", owner="engine/unknown")
    ledger.open(sealed)
    ledger.seal(sealed, CONTENTS)
    assert {write.write_id for write in ledger.ownerless(TABLE)} == {"r1/late/out", "r1/unknown/out"}
    assert [write.write_id for write in ledger.ownerless(TABLE, "sealed")] == ["r1/sealed/out"]
    assert [write.write_id for write in ledger.ownerless(OTHER)] == ["r1/elsewhere/out"]


def test_leftovers_are_forgotten_once_they_are_removed(ledger: Ledger) -> None:
    for attempt in (1, 2, 3):
        ledger.open(intent(attempt=attempt))
    left = [buffer for _, buffer in ledger.leftovers(TABLE)]
    assert sorted(left) == [intent(attempt=1).buffer, intent(attempt=2).buffer]
    ledger.forget([])
    ledger.forget(left[:1])
    assert [buffer for _, buffer in ledger.leftovers(TABLE)] == left[1:]


def test_a_table_has_something_to_recover_until_all_is_done(ledger: Ledger) -> None:
    assert ledger.unfinished() == {}
    ledger.open(intent(attempt=1))
    ledger.open(intent(attempt=2))
    ledger.seal(intent(attempt=2), CONTENTS)
    ledger.mark_committed(TABLE, {intent().write_id: 7})
    assert tuple(ledger.unfinished()) == (TABLE,)
    ledger.forget(buffer for _, buffer in ledger.leftovers(TABLE))
    assert ledger.unfinished() == {}


def test_times_are_the_databases(ledger: Ledger, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 0.0)
    _sealed(ledger, "r1/a/out")
    ledger.mark_committed(TABLE, {"r1/a/out": 7})
    with store.database.reading() as connection:
        row = connection.execute(select(writes.c.opened, writes.c.sealed, writes.c.finished)).one()
    assert 1.7e9 < row.opened <= row.sealed <= row.finished


def _numbers(store: Store) -> dict[str, int]:
    with store.database.reading() as connection:
        rows = connection.execute(select(writes.c.write_id, writes.c.number).order_by(writes.c.number))
        return {row.write_id: row.number for row in rows}

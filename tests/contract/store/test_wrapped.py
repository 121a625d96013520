"""Writes that a format commits by itself: the ledger learns from the format's log what became of them."""

from __future__ import annotations

import time

import pytest

from catchment.commit import own_commit
from catchment.commit.abandonment import abandon_lost
from catchment.commit.leases import table_lease
from catchment.commit.linger import AT_ONCE
from catchment.commit.own_commit import Committed, Settled
from catchment.commit.recovery import Refusal
from catchment.errors import Cancelled, JobError, RequestError
from catchment.store.ledger import Ledger
from catchment.store.writes import FATE_UNKNOWN
from tests.ledgers import ALIVE, LOST, TARGET, Filled, intent

DONE = Committed(snapshot_id=7, rows=10, bytes=100, files=2)


class Impatient:
    """Somebody who wants the write to stop as soon as it has to wait."""

    linger = AT_ONCE

    def warn(self, text: str) -> None:
        """Nothing to say."""

    def check(self) -> None:
        """Stop."""
        raise Cancelled("enough")

    def wait_to_seal(self) -> None:
        """Its turn is now."""


def test_a_finished_write_is_committed_with_what_it_came_to(filled: Filled) -> None:
    mine = filled.open("r/j/1").intent
    filled.open("r/j/2")
    for _ in range(2):  # the answer of the first may be lost
        own_commit.finish(filled.ledger, mine, DONE)
    done = filled.find("r/j/1")
    assert done.contents is not None
    assert (done.state, done.snapshot_id) == ("committed", 7)
    assert (done.contents.rows, done.contents.bytes, done.contents.files) == (10, 100, 2)
    assert filled.states("r/j/2") == ["open"]
    assert filled.ledger.open(mine) == done


def test_the_log_is_right_where_the_ledger_had_given_up(filled: Filled) -> None:
    given_up = filled.open("r/j/1")
    filled.ledger.abandon(given_up, {"code": "engine-lost"})
    own_commit.finish(filled.ledger, given_up.intent, DONE)
    assert (filled.find("r/j/1").state, filled.find("r/j/1").error) == ("committed", None)


def test_what_goes_to_another_table_now_is_not_finished_by_the_first(filled: Filled) -> None:
    first = filled.open("r/j/1").intent
    filled.open("r/j/1", target="dataos://lake:raw/other")
    own_commit.finish(filled.ledger, first, DONE)
    assert filled.states("r/j/1") == ["open"]


def test_open_writes_of_engines_that_are_gone_end_as_the_log_says(filled: Filled) -> None:
    filled.engine(ALIVE)
    for write_id, owner in (("r/j/there", LOST), ("r/j/not", LOST), ("r/j/alive", ALIVE)):
        filled.open(write_id, owner=owner, buffer=own_commit.attempt_name(write_id), buffered=False)
    log = {"r/j/there": DONE, "r/j/alive": DONE}
    settled = own_commit.settle(filled.ledger, TARGET, lambda write: log.get(write.write_id))
    assert settled == Settled(("r/j/there",), ("r/j/not",), ())
    assert filled.states("r/j/there", "r/j/not", "r/j/alive") == ["committed", "abandoned", "open"]
    assert filled.left() == []


def test_a_write_of_which_the_log_tells_nothing_any_more_waits_for_a_person(filled: Filled) -> None:
    name = own_commit.attempt_name("r/j/1")
    filled.open("r/j/1", buffer=name, buffered=False)
    with pytest.raises(RequestError) as early:  # recovery asks the table first, and its engine may be alive
        filled.store.decisions.accept("r/j/1", "lost")
    assert early.value.code == "write-not-so"
    told: list[str] = []
    doubt = JobError("it is unknown", code=FATE_UNKNOWN, hint="look for its rows")
    settled = own_commit.settle(filled.ledger, TARGET, lambda _: doubt, told.append)
    assert settled == Settled((), (), (Refusal("r/j/1", FATE_UNKNOWN, "it is unknown", "look for its rows"),))
    assert told == ["it is unknown; look for its rows"]
    assert own_commit.settle(filled.ledger, TARGET, lambda _: None) == Settled((), (), ())
    with pytest.raises(JobError) as refused:
        filled.open("r/j/1", buffer="r.j.1.2", buffered=False)
    assert refused.value.code == FATE_UNKNOWN
    filled.store.decisions.accept("r/j/1", "lost")
    assert filled.open("r/j/1", buffer="r.j.1.2", buffered=False).state == "open"


def test_an_attempt_after_another_leaves_nothing_to_remove(filled: Filled, ledger: Ledger) -> None:
    for _ in range(2):
        name = own_commit.attempt_name("r/j/1")
        assert ledger.open(intent("r/j/1", buffer=name, buffered=False)).state == "open"
    assert filled.left() == []


def test_a_buffer_may_have_any_sign_in_its_name(filled: Filled) -> None:
    filled.open("r/j/1", buffer="/c#/lake/raw/t/data/r#j#1")
    filled.open("r/j/2", buffer=own_commit.attempt_name("r/j/2"), buffered=False)
    assert [filled.find(write_id).intent.buffered for write_id in ("r/j/1", "r/j/2")] == [True, False]
    assert abandon_lost(filled.ledger, TARGET) == ("r/j/1",)
    assert filled.left() == ["/c#/lake/raw/t/data/r#j#1"]


def test_an_attempt_that_failed_leaves_nothing_open_and_the_next_one_begins(filled: Filled, ledger: Ledger) -> None:
    write = ledger.open(intent("r/j/1", buffer=own_commit.attempt_name("r/j/1"), buffered=False))
    ledger.abandon(write, {"code": "schema-mismatch"})
    assert (filled.states("r/j/1"), filled.left()) == (["abandoned"], [])
    assert ledger.open(intent("r/j/1", buffer="r.j.1.2", buffered=False)).state == "open"


def test_buffered_writes_to_the_same_table_are_not_settled_and_their_files_stay_known(filled: Filled) -> None:
    filled.open("r/j/own", owner=LOST, buffer=own_commit.attempt_name("r/j/own"), buffered=False)
    given_up = filled.open("r/j/early", owner=LOST, buffer="/data/early")
    filled.ledger.abandon(given_up, {"code": "engine-lost"})
    filled.open("r/j/buffered", owner=LOST, buffer="/data/buffered")
    assert abandon_lost(filled.ledger, TARGET) == ("r/j/buffered",)
    assert filled.states("r/j/own") == ["open"]
    assert own_commit.settle(filled.ledger, TARGET, lambda _: None).abandoned == ("r/j/own",)
    assert sorted(filled.left()) == ["/data/buffered", "/data/early"]


def test_turns_are_taken_one_after_the_other(filled: Filled) -> None:
    with table_lease(filled.store, TARGET, ALIVE, Impatient(), time.monotonic):
        with pytest.raises(Cancelled), table_lease(filled.store, TARGET, LOST, Impatient(), time.monotonic):
            pytest.fail("two had their turn")
        with table_lease(filled.store, "dataos://lake:raw/other", LOST, Impatient(), time.monotonic):
            pass
        with table_lease(filled.store, TARGET, LOST, Impatient(), time.monotonic, right="rows"):
            pass
    with table_lease(filled.store, TARGET, LOST, Impatient(), time.monotonic):
        pass

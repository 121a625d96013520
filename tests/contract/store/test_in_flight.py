"""What the metastore says is still needed: files and history of writes on their way, and who reads since when."""

from __future__ import annotations

import time

import pytest
from sqlalchemy import update

from catchment.commit.presence import reading
from catchment.store import Store
from catchment.store.database import database_time
from catchment.store.in_flight import CLOCKS_APART_SECONDS
from catchment.store.schema import readers, writes
from catchment.store.writes import FATE_UNKNOWN
from tests.ledgers import REFUSED, TARGET, Filled


def test_nothing_is_needed_of_a_table_that_nobody_writes(filled: Filled) -> None:
    filled.commit("r/j/done", snapshot=1)
    filled.abandon("r/j/refused")
    filled.open("r/j/elsewhere", target="dataos://lake:raw/other")
    found = filled.ledger.in_flight(TARGET)
    assert (found.buffers, found.sequence, found.snapshots) == (frozenset(), None, frozenset())
    assert abs(time.time() - CLOCKS_APART_SECONDS - found.oldest) < 30


def test_open_and_sealed_writes_need_their_files_and_the_history_since_they_began(filled: Filled) -> None:
    filled.open("r/j/open", buffer="s3a://lake/data/open.1")
    filled.seal("r/j/sealed", buffer="/lake/data/sealed.2")
    filled.open("r/j/merge", buffer="merge.3", buffered=False, mode="merge")
    with filled.store.database.writing() as connection:
        old = update(writes).where(writes.c.write_id == "r/j/merge")
        connection.execute(old.values(opened=database_time() - 1000, base_sequence=0, base_snapshot=77))
    found = filled.ledger.in_flight(TARGET)
    assert (set(found.buffers), found.sequence, set(found.snapshots)) == ({"open.1", "sealed.2"}, 0, {77})
    assert abs(time.time() - 1000 - CLOCKS_APART_SECONDS - found.oldest) < 30


def test_files_whose_fate_nobody_knows_stay(filled: Filled) -> None:
    filled.abandon("r/j/unknown", {"code": FATE_UNKNOWN, "message": "", "hint": ""}, buffer="/lake/data/unknown.1")
    assert filled.ledger.in_flight(TARGET).buffers == {"unknown.1"}


def test_maintenance_needs_no_history_but_its_files(filled: Filled) -> None:
    filled.open("r/j/rewrite", buffer="rewrite.1", buffered=False, mode="maintain")
    with filled.store.database.writing() as connection:
        connection.execute(update(writes).values(opened=database_time() - 1000))
    found = filled.ledger.in_flight(TARGET)
    assert (found.buffers, found.sequence, found.snapshots) == (frozenset(), None, frozenset())
    assert found.oldest < time.time() - 1000


def test_the_oldest_reader_that_is_heard_from_counts(store: Store) -> None:
    assert store.readers.oldest() is None
    with reading(store, "query"):
        first = store.readers.oldest()
        assert first is not None
        with reading(store, "job"):
            assert store.readers.oldest() == first
            with store.database.writing() as connection:
                connection.execute(update(readers).where(readers.c.since == first).values(expires=database_time() - 1))
            later = store.readers.oldest()
            assert later is not None
            assert later >= first
    assert store.readers.oldest() is None


def test_a_reader_that_was_taken_for_dead_counts_again_as_the_old_one_it_is(store: Store) -> None:
    store.readers.here("slow", age=0.0, seconds=-1.0)
    store.readers.here("quick", age=0.0, seconds=60.0)
    begun = store.readers.oldest()
    store.readers.here("slow", age=500.0, seconds=60.0)
    since = store.readers.oldest()
    assert begun
    assert since
    assert begun - since == pytest.approx(500, abs=100)


def test_a_table_is_used_by_whoever_writes_it_or_has_committed_to_it(filled: Filled) -> None:
    mine, replaced = "uuid", "another table of the same name"
    filled.abandon("r/j/failed")
    filled.open("r/j/elsewhere", target="dataos://lake:raw/other", table_uuid="another")
    assert not filled.ledger.is_used(TARGET, mine)
    assert filled.ledger.is_used(TARGET, "another")
    filled.commit("r/j/done", snapshot=None)
    assert (filled.ledger.is_used(TARGET, mine), filled.ledger.is_used(TARGET, replaced)) == (True, False)
    filled.open("r/j/begun")
    assert filled.ledger.is_used(TARGET, replaced)


def test_what_was_removed_after_a_failure_is_not_left_again(filled: Filled) -> None:
    failed = filled.open("r/j/o", buffer="/lake/data/first")
    assert filled.ledger.abandon(failed, REFUSED)
    filled.ledger.forget(["/lake/data/first"])
    filled.open("r/j/o", buffer="/lake/data/second")
    assert filled.left() == []

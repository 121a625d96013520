"""Engines that die and tables that are dropped leave nothing in the ledger for ever."""

from __future__ import annotations

from typing import Any

from catchment.commit.abandonment import Rounds
from catchment.commit.publisher import Publisher
from catchment.commit.recovery import give_up_dropped, unfinished
from catchment.formats.iceberg.buffered import TableDestination
from tests.ledgers import ALIVE, LOST, TARGET, Filled
from tests.spark.lake import table


def publisher(filled: Filled, seconds: float) -> Publisher[TableDestination]:
    """The publisher of a long-lived engine, at a table in which nothing is sealed: it never touches the table."""
    session: Any = None
    destination = TableDestination(session, table("t"), filled.ledger)
    return Publisher(filled.store, filled.ledger, TARGET, ALIVE, destination, rounds=Rounds(seconds))


def test_whoever_consolidates_gives_up_what_engines_that_died_meanwhile_left_open(filled: Filled) -> None:
    filled.engine()
    busy = publisher(filled, seconds=0.0)
    filled.open("r/j/1", owner=LOST)
    filled.open("r/j/alive", owner=ALIVE)
    assert busy.consolidate()
    assert filled.states("r/j/1", "r/j/alive") == ["abandoned", "open"]
    filled.open("r/j/2", owner=LOST)
    assert busy.consolidate()
    assert filled.states("r/j/2") == ["abandoned"]


def test_it_looks_once_in_a_while_only(filled: Filled) -> None:
    busy = publisher(filled, seconds=600.0)
    assert busy.consolidate()
    filled.open("r/j/1", owner=LOST)
    assert busy.consolidate()
    assert filled.states("r/j/1") == ["open"]


def test_writes_of_a_dropped_table_come_to_an_end_and_their_files_stay(filled: Filled) -> None:
    filled.engine()
    old, sealed = filled.abandon("r/j/old"), filled.seal("r/j/sealed")
    lost = filled.open("r/j/lost", owner=LOST)
    filled.open("r/j/alive", owner=ALIVE)
    filled.seal("r/j/elsewhere", target=f"{TARGET}_other")
    done = give_up_dropped(filled.ledger, TARGET)
    assert [(each.write_id, each.code) for each in done.refused] == [("r/j/sealed", "table-dropped")]
    assert sealed.intent.buffer in str(done.refused[0].hint)
    assert (done.abandoned, done.published, done.removed) == (("r/j/lost",), (), ())
    assert sorted(done.kept) == sorted([old.intent.buffer, lost.intent.buffer])
    assert filled.states("r/j/sealed", "r/j/alive", "r/j/elsewhere") == ["abandoned", "open", "sealed"]
    [left] = unfinished(filled.store, TARGET)
    assert not left.recoverable
    assert filled.ledger.open(sealed.intent).state == "open"  # its run may write it anew

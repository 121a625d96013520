"""Whoever acts on a write as it was a while ago acts on nothing."""

from __future__ import annotations

import pytest

from catchment.errors import JobError
from catchment.store.ledger import WritesMoved
from catchment.store.writes import FATE_UNKNOWN
from tests.ledgers import ALIVE, LOST, REFUSED, TARGET, Filled, contents

UNKNOWN = {"code": FATE_UNKNOWN, "message": "nobody can tell"}


def test_an_engine_taken_for_dead_may_still_have_sealed(filled: Filled) -> None:
    seen = filled.open("r/j/o")
    filled.ledger.seal(seen.intent, contents())
    assert filled.ledger.abandon(seen, REFUSED) is False
    assert (filled.states("r/j/o"), filled.left()) == (["sealed"], [])


def test_a_write_that_somebody_is_about_to_swap_is_not_given_up(filled: Filled) -> None:
    seen = filled.seal("r/j/o")
    filled.ledger.mark_tried([seen])
    assert filled.ledger.abandon(seen, REFUSED) is False
    assert filled.ledger.abandon(filled.find("r/j/o"), REFUSED) is True


def test_a_swap_is_sent_only_for_writes_that_are_as_they_were_read(filled: Filled) -> None:
    first, second = filled.seal("r/j/1"), filled.seal("r/j/2")
    filled.ledger.mark_tried([first, second])
    assert [filled.find(write.write_id).tried for write in (first, second)] == [True, True]
    with pytest.raises(WritesMoved):
        filled.ledger.mark_tried([first])  # tried since: its swap may have been applied
    filled.ledger.mark_tried([filled.find("r/j/1")])


@pytest.mark.parametrize("end", ["committed", "abandoned"])
def test_no_swap_is_sent_for_a_write_that_is_settled(filled: Filled, end: str) -> None:
    seen, other = filled.seal("r/j/1"), filled.seal("r/j/2")
    if end == "committed":
        filled.ledger.mark_committed(TARGET, {"r/j/1": 5})
    else:
        filled.ledger.abandon(seen, REFUSED)
    with pytest.raises(WritesMoved):
        filled.ledger.mark_tried([seen, other])
    assert filled.find("r/j/2").tried is False


def test_files_of_a_write_whose_fate_is_unknown_are_nobodys_to_remove(filled: Filled) -> None:
    filled.abandon("r/j/known")
    filled.abandon("r/j/unknown", UNKNOWN)
    assert filled.left() == ["/lake/data/r.j.known"]
    with pytest.raises(JobError) as refused:
        filled.open("r/j/unknown", buffer="/lake/data/again")
    assert (refused.value.code, refused.value.message) == (FATE_UNKNOWN, "nobody can tell")
    assert filled.left() == ["/lake/data/r.j.known"]


def test_what_a_write_still_uses_is_never_a_leftover(filled: Filled) -> None:
    filled.abandon("r/j/given-up", buffer="/lake/data/shared")
    assert filled.left() == ["/lake/data/shared"]
    filled.commit("r/j/committed", 7, buffer="/lake/data/shared")
    assert filled.left() == []
    assert [table.leftovers for table in filled.store.activity.tables()] == [0]


def test_writes_of_lost_engines_are_told_by_their_state(filled: Filled) -> None:
    filled.engine()
    filled.open("r/j/mine", owner=ALIVE)
    filled.open("r/j/open", owner=LOST)
    filled.seal("r/j/sealed", owner=LOST)
    filled.open("r/j/elsewhere", owner=LOST, target="dataos://lake:raw/other")
    target = filled.find("r/j/open").intent.target
    assert [write.write_id for write in filled.ledger.ownerless(target)] == ["r/j/open"]
    assert [write.write_id for write in filled.ledger.ownerless(target, "sealed")] == ["r/j/sealed"]


def test_a_batch_is_bounded_and_keeps_the_order_of_the_seals(filled: Filled) -> None:
    for number in (3, 1, 2):
        filled.seal(f"r/j/{number}")
    target = filled.find("r/j/1").intent.target
    assert [write.write_id for write in filled.ledger.pending(target, limit=2)] == ["r/j/3", "r/j/1"]
    assert filled.ledger.count_pending(target) == 3

"""Writes that were set aside, writes whose fate is unknown, and what a person says about them."""

from __future__ import annotations

import pytest

from catchment.errors import JobError, RequestError
from catchment.store.ledger import WritesMoved
from catchment.store.writes import ACCEPTED_AS_LOST, FATE_UNKNOWN, Published
from tests.ledgers import TARGET, Filled

SPOILT = {"code": "write-set-aside", "message": "its files cannot be read", "hint": "drop it", "conflict": False}
UNKNOWN = {"code": FATE_UNKNOWN, "message": "nobody can tell", "hint": "look for its rows"}


def waiting(filled: Filled, **bounds: int) -> list[str]:
    return [write.write_id for write in filled.ledger.pending(TARGET, **{"limit": 10, **bounds})]


def set_aside(filled: Filled, write_id: str) -> None:
    filled.ledger.set_aside(filled.seal(write_id), SPOILT)


def test_a_write_that_is_set_aside_leaves_the_queue_and_is_kept(filled: Filled) -> None:
    set_aside(filled, "r/j/spoilt")
    filled.seal("r/j/good")
    assert waiting(filled) == ["r/j/good"]
    assert filled.ledger.count_pending(TARGET) == 1
    assert [filled.ledger.waits(write_id) for write_id in ("r/j/spoilt", "r/j/good")] == [False, True]
    assert filled.ledger.sealed_ids(TARGET) == ("r/j/spoilt", "r/j/good")
    assert {write.write_id for write in filled.ledger.ownerless(TARGET, "sealed")} == {"r/j/good"}
    assert filled.left() == []
    shown = {write.write_id: write.error for write in filled.store.activity.writes()}
    assert shown == {"r/j/spoilt": SPOILT, "r/j/good": None}


def test_only_what_is_still_sealed_is_set_aside(filled: Filled) -> None:
    seen = filled.seal("r/j/1")
    filled.ledger.mark_committed(TARGET, {"r/j/1": 7})
    filled.ledger.set_aside(seen, SPOILT)
    assert (filled.find("r/j/1").state, filled.find("r/j/1").error) == ("committed", None)


@pytest.mark.parametrize("by", ["a person", "its job"])
def test_a_write_that_was_set_aside_is_tried_again(filled: Filled, by: str) -> None:
    set_aside(filled, "r/j/1")
    if by == "a person":
        filled.store.decisions.retry("r/j/1")
    else:
        assert filled.open("r/j/1", buffer="/lake/data/another").state == "sealed"
    assert waiting(filled) == ["r/j/1"]
    assert filled.find("r/j/1").intent.buffer == "/lake/data/r.j.1"


def test_a_write_that_was_set_aside_is_dropped_with_its_files(filled: Filled) -> None:
    set_aside(filled, "r/j/1")
    filled.store.decisions.drop("r/j/1")
    assert filled.states("r/j/1") == ["abandoned"]
    assert filled.left() == ["/lake/data/r.j.1"]


def test_a_write_whose_fate_is_unknown_was_committed(filled: Filled) -> None:
    filled.abandon("r/j/1", UNKNOWN)
    filled.store.decisions.accept("r/j/1", "committed")
    assert filled.open("r/j/1", buffer="/lake/data/again").state == "committed"
    assert filled.left() == []


def test_a_write_whose_fate_is_unknown_was_lost(filled: Filled) -> None:
    filled.abandon("r/j/1", UNKNOWN)
    with pytest.raises(JobError):
        filled.open("r/j/1", buffer="/lake/data/again")
    filled.store.decisions.accept("r/j/1", "lost")
    assert (filled.find("r/j/1").error or {})["code"] == ACCEPTED_AS_LOST
    assert filled.left() == ["/lake/data/r.j.1"]
    assert filled.open("r/j/1", buffer="/lake/data/again").state == "open"


def test_nobody_decides_about_other_writes(filled: Filled) -> None:
    filled.seal("r/j/sealed")
    filled.open("r/j/open")
    decisions = filled.store.decisions
    for decide, write_id, code in (
        (decisions.retry, "r/j/sealed", "write-not-so"),
        (decisions.drop, "r/j/sealed", "write-not-so"),
        (lambda write_id: decisions.accept(write_id, "lost"), "r/j/open", "write-not-so"),
        (decisions.drop, "r/j/none", "write-not-found"),
    ):
        with pytest.raises(RequestError) as refused:
            decide(write_id)
        assert refused.value.code == code
    assert filled.states("r/j/sealed", "r/j/open") == ["sealed", "open"]


def test_a_batch_is_bounded_by_files_and_by_bytes(filled: Filled) -> None:
    for number in range(4):
        filled.seal(f"r/j/{number}")
    every = [f"r/j/{number}" for number in range(4)]
    assert waiting(filled) == every
    assert waiting(filled, limit=3) == every[:3]
    assert waiting(filled, files=2) == every[:2]
    assert waiting(filled, packed=1) == every[:1]  # the first one is published, however large it is
    assert waiting(filled, files=0) == every[:1]


def test_no_swap_is_sent_with_the_files_of_an_earlier_attempt(filled: Filled) -> None:
    seen = filled.seal("r/j/1")
    filled.ledger.abandon(seen, {"code": "engine-lost", "message": "", "hint": ""})
    filled.seal("r/j/1", buffer="/lake/data/again")
    with pytest.raises(WritesMoved):
        filled.ledger.mark_tried([seen])
    assert not filled.find("r/j/1").tried


def test_a_ledger_learns_what_it_has_lost(filled: Filled) -> None:
    filled.commit("r/j/known", 5)
    filled.open("r/j/open")
    history = [
        Published(f"r/j/{name}", "flow", 10 + number, rows=3, number=number)
        for number, name in enumerate(("known", "open", "lost"), start=1)
    ]
    intent = filled.find("r/j/known").intent
    assert filled.ledger.learn(TARGET, intent.dataset, history) == ("r/j/lost", "r/j/open")
    assert filled.ledger.learn(TARGET, intent.dataset, history) == ()
    assert filled.states("r/j/known", "r/j/open", "r/j/lost") == ["committed"] * 3
    assert filled.find("r/j/open").snapshot_id == 12
    lost = filled.find("r/j/lost")
    assert (lost.snapshot_id, lost.contents.rows if lost.contents else None) == (13, 3)
    assert filled.seal("r/j/next").number == 4  # after the newest that the table has


def test_what_is_marked_and_not_in_the_ledger_is_told(filled: Filled) -> None:
    filled.seal("r/j/known")
    assert filled.ledger.mark_committed(TARGET, {"r/j/known": 1, "r/j/lost": 2}) == ("r/j/lost",)


def test_every_copy_of_a_metastore_has_its_identity(filled: Filled) -> None:
    assert filled.ledger.metastore == type(filled.ledger)(filled.store.database).metastore
    assert len(filled.ledger.metastore) == 32

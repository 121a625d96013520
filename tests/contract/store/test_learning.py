"""What a table's history tells a ledger that is behind, and what it must not tell it."""

from __future__ import annotations

import pytest

from catchment.commit import own_commit
from catchment.commit.committed import Committed
from catchment.store.writes import FATE_UNKNOWN, Contents, Published
from tests.ledgers import ALIVE, TARGET, Filled, intent

OTHER = "dataos://lake:raw/other"
DONE = Committed(snapshot_id=7, rows=10, bytes=100, files=2)


def learn(filled: Filled, *write_ids: str, target: str = TARGET) -> tuple[str, ...]:
    history = [Published(write_id, "flow", 7, rows=3, number=1) for write_id in write_ids]
    return filled.ledger.learn(target, intent("r/j/any").dataset, history)


@pytest.mark.parametrize("state", ["open", "abandoned"])
def test_the_history_of_one_table_says_nothing_about_another(filled: Filled, state: str) -> None:
    filled.commit("r/j/1", 7)
    moved = filled.open("r/j/1", target=OTHER, buffer="/lake/data/other")  # resumed, with another address
    if state == "abandoned":
        filled.ledger.abandon(moved, {"code": "engine-lost"})
    assert learn(filled, "r/j/1") == ()
    assert filled.states("r/j/1") == [state]
    assert learn(filled, "r/j/1", target=OTHER) == ("r/j/1",)


def test_a_consolidator_that_is_late_ends_no_write_to_another_table(filled: Filled) -> None:
    filled.commit("r/j/1", 7)
    filled.open("r/j/1", target=OTHER, buffer="/lake/data/other")
    assert filled.ledger.mark_committed(TARGET, {"r/j/1": 7}) == ()
    assert filled.states("r/j/1") == ["open"]
    assert filled.ledger.mark_committed(OTHER, {"r/j/1": 8}) == ()
    assert filled.find("r/j/1").snapshot_id == 8


def test_what_an_attempt_wrote_that_the_table_did_not_wait_for_is_left_to_recovery(filled: Filled) -> None:
    filled.engine(ALIVE)
    filled.open("r/j/gone", buffer="/lake/data/gone")
    filled.open("r/j/alive", buffer="/lake/data/alive", owner=ALIVE)
    filled.open("r/j/own", buffer="r.j.own.1", buffered=False)
    learn(filled, "r/j/gone", "r/j/alive", "r/j/own")
    assert filled.left() == ["/lake/data/gone"]  # the other one is still being filled
    assert filled.states("r/j/gone", "r/j/alive", "r/j/own") == ["committed"] * 3
    filled.ledger.seal(intent("r/j/alive", buffer="/lake/data/alive"), Contents((), 0, 0, 0))  # it is in the table
    filled.ledger.forget(["/lake/data/gone"])
    assert filled.left() == []


def test_the_files_of_a_sealed_write_stay_when_the_table_has_it(filled: Filled) -> None:
    filled.abandon("r/j/unknown", {"code": FATE_UNKNOWN, "message": "", "hint": ""})
    filled.abandon("r/j/refused")
    assert learn(filled, "r/j/unknown", "r/j/refused") == ("r/j/unknown", "r/j/refused")
    assert filled.left() == []


def test_a_write_that_the_metastore_lost_while_its_format_committed_it_is_recorded_again(filled: Filled) -> None:
    own = filled.open("r/j/own", buffer="r.j.own.1", buffered=False).intent
    filled.lose("r/j/own")
    told: list[str] = []
    for _ in range(2):  # the answer of the first may be lost
        own_commit.finish(filled.ledger, own, DONE, told.append)
    done = filled.find("r/j/own")
    assert (done.state, done.snapshot_id, done.contents) == ("committed", 7, Contents((), 10, 100, 2))
    [warning] = told
    assert warning.startswith("metastore-behind: ")
    assert "r/j/own" in warning


def test_what_a_format_committed_elsewhere_meanwhile_is_no_loss(filled: Filled) -> None:
    first = filled.open("r/j/1", buffer="r.j.1.1", buffered=False).intent
    filled.open("r/j/1", target=OTHER, buffer="r.j.1.2", buffered=False)
    told: list[str] = []
    own_commit.finish(filled.ledger, first, DONE, told.append)
    assert (filled.states("r/j/1"), told) == (["open"], [])

"""What the name of a committer says, and what a history remembers."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from catchment.formats.paimon import snapshots
from catchment.formats.paimon.snapshot_files import COMPACTION, Snapshot
from catchment.formats.paimon.snapshots import History, published_in, user_of
from tests.ledgers import Filled


def snapshot(number: int, user: str, manifests: str = "") -> Snapshot:
    return Snapshot(number, 1000 * number, "APPEND", user, manifests or f"list-{number}", 10, 5)


def test_a_commit_tells_its_writes_and_their_seals(filled: Filled) -> None:
    writes = [filled.seal("r/a/out", rows=3), filled.seal("r/b/out", rows=4)]
    made = snapshot(7, user_of(writes, "here"))
    assert made.write_ids == ("r/a/out", "r/b/out")
    assert made.committed("r/b/out").rows == 4
    assert [(each.write_id, each.rows, each.number) for each in published_in(made)] == [
        ("r/a/out", 3, writes[0].number),
        ("r/b/out", 4, writes[1].number),
    ]
    assert snapshot(8, "b2f1-a-writer-of-flink").stamp == {}


def test_a_commit_that_changes_rows_says_so(filled: Filled) -> None:
    write = filled.seal("r/a/out")
    merged = replace(write, intent=replace(write.intent, mode="merge"))
    assert snapshot(1, user_of([merged], "here")).changes_rows
    assert not snapshot(2, user_of([write], "here")).changes_rows


class Lines:
    """The snapshots of a table, and what was read of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.table: dict[int, Snapshot] = {}
        self.asked: list[int] = []
        monkeypatch.setattr(snapshots, "read_back", self.read_back)

    def read_back(self, spark: object, java: object, newest: int, after: int = 0, since: int = 0) -> list[Snapshot]:
        self.asked.append(newest)
        return [self.table[number] for number in range(newest, max(after, 0), -1) if number in self.table]

    def commit(self, number: int, write: str, manifests: str = "") -> Snapshot:
        self.table[number] = snapshot(number, json.dumps({"catchment.write-ids": write}), manifests)
        return self.table[number]


def test_a_history_that_was_rolled_back_is_read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    lines, history = Lines(monkeypatch), History(None)
    lines.commit(1, "one")
    history.follow(None, lines.commit(2, "two"), 0, 0)
    assert sorted(history.find(["one", "two", "three"])) == ["one", "two"]
    history.follow(None, lines.commit(3, "three"), 0, 0)
    assert sorted(history.find(["one", "two", "three"])) == ["one", "three", "two"]
    del lines.table[3]
    history.follow(None, lines.commit(2, "other", "list-other"), 0, 0)
    assert sorted(history.find(["one", "two", "three", "other"])) == ["one", "other"]
    lines.commit(2, "again", "list-again")
    history.follow(None, lines.commit(3, "more"), 0, 0)
    assert sorted(history.find(["one", "other", "again", "more"])) == ["again", "more", "one"]
    history.follow(None, lines.commit(3, "instead", "list-instead"), 0, 0)
    assert sorted(history.find(["one", "again", "more", "instead"])) == ["again", "instead", "one"]


def test_a_history_reads_nothing_that_it_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    lines, history = Lines(monkeypatch), History(None)
    for number in (1, 2, 3):
        lines.commit(number, f"w{number}")
    history.follow(None, lines.table[3], 1, 10**6)
    assert (lines.asked, sorted(history.find(["w1", "w2", "w3"]))) == ([3], ["w2", "w3"])
    history.follow(None, lines.table[3], 2, 10**6)
    history.add_own(4, ["w4"])
    history.follow(None, lines.commit(4, "w4"), 3, 10**6)
    assert (lines.asked, sorted(history.find(["w3", "w4"]))) == ([3], ["w3", "w4"])
    history.add_own(5, ["w5"])
    history.follow(None, lines.commit(5, "of somebody else"), 3, 10**6)
    assert (lines.asked[1:], sorted(history.find(["w5", "of somebody else"]))) == ([5], ["of somebody else"])
    history.follow(None, lines.table[5], 0, 10**6)
    assert (lines.asked[2:], list(history.find(["w1"]))) == ([1], ["w1"])


def test_who_else_writes_a_table() -> None:
    ours, theirs = (json.dumps({"catchment.metastore": name}) for name in ("here", "elsewhere"))
    history = History(None)
    sorted_here, sorted_elsewhere = (f"{COMPACTION.format(name)}_4f1c" for name in ("here", "elsewhere"))
    history._add([snapshot(1, "flink"), snapshot(2, ours), snapshot(3, "catchment fence"), snapshot(4, sorted_here)])
    assert history.rival(1, "here") is None
    assert history.rival(0, "here") == snapshot(1, "flink")
    for user in (theirs, sorted_elsewhere):
        history._add([snapshot(5, user)])
        assert history.rival(1, "here") == snapshot(5, user)

"""What the name of a committer says, and what a history remembers."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from catchment.formats.paimon import snapshots
from catchment.formats.paimon.snapshots import History, Snapshot, user_of
from tests.ledgers import Filled


def snapshot(number: int, user: str, manifests: str = "") -> Snapshot:
    return Snapshot(number, 1000 * number, "APPEND", user, manifests or f"list-{number}", 10, 5)


def test_a_commit_tells_its_writes_and_their_seals(filled: Filled) -> None:
    writes = [filled.seal("r/a/out", rows=3), filled.seal("r/b/out", rows=4)]
    made = snapshot(7, user_of(writes, "here"))
    assert made.write_ids == ("r/a/out", "r/b/out")
    assert made.committed("r/b/out").rows == 4
    assert [(each.write_id, each.rows, each.number) for each in made.published()] == [
        ("r/a/out", 3, writes[0].number),
        ("r/b/out", 4, writes[1].number),
    ]
    assert snapshot(8, "b2f1-a-writer-of-flink").stamp == {}


def test_a_commit_that_changes_rows_says_so(filled: Filled) -> None:
    write = filled.seal("r/a/out")
    merged = replace(write, intent=replace(write.intent, mode="merge"))
    assert snapshot(1, user_of([merged], "here")).changes_rows
    assert not snapshot(2, user_of([write], "here")).changes_rows


def test_a_history_that_was_rolled_back_is_read_anew(monkeypatch: Any) -> None:
    table: dict[int, Snapshot] = {}
    asked: list[int] = []

    def read_back(spark: object, java: object, newest: int, after: int = 0, since: int = 0) -> list[Snapshot]:
        asked.append(newest)
        return [table[number] for number in range(newest, max(after, 0), -1) if number in table]

    def commit(number: int, write: str, manifests: str = "") -> Snapshot:
        table[number] = snapshot(number, json.dumps({"catchment.write-ids": write}), manifests)
        return table[number]

    monkeypatch.setattr(snapshots, "read_back", read_back)
    history = History(None)
    commit(1, "one")
    history.follow(None, commit(2, "two"), 0, 0)
    assert sorted(history.find(["one", "two", "three"])) == ["one", "two"]
    history.follow(None, commit(3, "three"), 0, 0)
    assert sorted(history.find(["one", "two", "three"])) == ["one", "three", "two"]
    del table[3]
    history.follow(None, commit(2, "other", "list-other"), 0, 0)
    assert sorted(history.find(["one", "two", "three", "other"])) == ["one", "other"]
    commit(2, "again", "list-again")
    history.follow(None, commit(3, "more"), 0, 0)
    assert sorted(history.find(["one", "other", "again", "more"])) == ["again", "more", "one"]


def test_who_else_writes_a_table() -> None:
    ours, theirs = (json.dumps({"catchment.metastore": name}) for name in ("here", "elsewhere"))
    history = History(None)
    history._add([snapshot(1, "flink"), snapshot(2, ours), snapshot(3, "catchment fence")])
    assert history.rival(1, "here") is None
    assert history.rival(0, "here") == snapshot(1, "flink")
    history._add([snapshot(4, theirs)])
    assert history.rival(1, "here") == snapshot(4, theirs)

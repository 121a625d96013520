"""The record of publications, on every database."""

from __future__ import annotations

from multiprocessing.synchronize import Barrier

import pytest
from sqlalchemy import Connection

from catchment.store import Store, open_store, publications
from catchment.store.publications import Publication, Publications
from tests.contract.store.processes import answers_of

TABLE = "dataos://lake:raw/trips"
PROCESSES = 4


@pytest.fixture
def record(store: Store) -> Publications:
    return store.publications


def moved(before: str | None, file: str) -> Publication:
    return Publication(TABLE, "shown", file, before, 7, "ana@host", "run", "job")


def test_moves_are_remembered_in_order(record: Publications) -> None:
    for before, file in ((None, "1"), ("1", "2"), ("2", "1")):
        record.record(moved(before, file))
    found = record.of_table(TABLE)
    assert [(each.before, each.file) for each in found] == [(None, "1"), ("1", "2"), ("2", "1")]
    assert (found[0].by, found[0].run_id, found[0].job, found[0].snapshot_id) == ("ana@host", "run", "job", 7)
    assert found[0].at
    assert record.of_table("dataos://lake:raw/others") == ()


def test_a_record_whose_answer_was_lost_is_repeated_without_harm(record: Publications) -> None:
    made = moved(None, "1")
    record.record(made)
    record.record(made)
    assert len(record.of_table(TABLE)) == 1


def test_a_move_that_nobody_recorded_is_found(record: Publications) -> None:
    assert record.record_missing(moved(None, "1"))
    assert not record.record_missing(moved(None, "1"))
    record.record(moved("1", "2"))
    assert not record.record_missing(moved("1", "2"))
    # Back at the first one, and whoever did that died before telling.
    assert record.record_missing(moved("2", "1"))
    assert [each.file for each in record.of_table(TABLE)] == ["1", "2", "1"]


def test_the_order_in_which_two_record_does_not_matter(record: Publications) -> None:
    for before, file in ((None, "1"), ("2", "3"), ("1", "2")):
        record.record(moved(before, file))
    assert not record.record_missing(moved("2", "3"))


def _record(url: str, number: int, barrier: Barrier) -> bool:
    barrier.wait()
    with open_store(url) as store:
        store.publications.record(moved(None, f"{number}"))
        return store.publications.record_missing(moved("x", "same"))


def test_several_processes_record_at_once(url: str) -> None:
    open_store(url).close()
    assert sorted(answers_of(_record, url, processes=PROCESSES)) == [False] * (PROCESSES - 1) + [True]
    with open_store(url) as store:
        files = [each.file for each in store.publications.of_table(TABLE)]
    assert sorted(files) == [*map(str, range(PROCESSES)), "same"]


def test_who_looked_before_another_one_recorded_does_not_record_it_again(
    monkeypatch: pytest.MonkeyPatch, schema_url: str
) -> None:
    """On a server, others commit between any two statements of ours; in an SQLite file, one writes at a time."""
    looked: list[bool] = []
    known = publications._is_known

    def looking(connection: Connection, seen: Publication) -> bool:
        answer = known(connection, seen)
        if not looked:
            looked.append(answer)
            with open_store(schema_url) as other:
                Publications(other.database).record(moved("x", "same"))
        return answer

    monkeypatch.setattr(publications, "_is_known", looking)
    with open_store(schema_url) as store:
        record = Publications(store.database)
        assert not record.record_missing(moved("x", "same"))
        assert (looked, len(record.of_table(TABLE))) == ([False], 1)

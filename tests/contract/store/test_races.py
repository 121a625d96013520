"""Several processes at once: nothing is lost, nothing is given twice, nobody waits for ever."""

from __future__ import annotations

from contextlib import suppress
from multiprocessing.synchronize import Barrier

from sqlalchemy import select

from catchment.errors import EngineLost, LeaseHeld
from catchment.store import Store, open_store
from catchment.store.ledger import WritesMoved
from catchment.store.schema import writes
from tests.contract.store.processes import answers_of, together
from tests.contract.store.writes import CONTENTS, TABLE, intent

WRITERS = 4
WRITES = 25
ROUNDS = 12


def _write(url: str, number: int, barrier: Barrier) -> list[str]:
    """One writer: open and seal, again and again."""
    with open_store(url) as store:
        ledger, done = store.ledger, []
        barrier.wait()
        for n in range(WRITES):
            begun = intent(f"r1/writer-{number}/out{n}")
            ledger.open(begun)
            ledger.seal(begun, CONTENTS)
            done.append(begun.write_id)
        return done


def _seen(store: Store) -> list[int]:
    sealed = select(writes.c.number).where(writes.c.target == TABLE, writes.c.number.is_not(None))
    with store.database.reading() as connection:
        return sorted(connection.scalars(sealed))


def test_seals_of_many_processes_are_numbered_without_gap_and_seen_in_order(url: str) -> None:
    with open_store(url) as store, together(_write, url, processes=WRITERS) as result:
        acknowledged: list[str] = []
        looks = 0
        while len(_seen(store)) < WRITERS * WRITES:
            seen = _seen(store)
            # Never a number before a smaller one: what a consolidator has not seen is sealed later than what it has.
            assert seen == list(range(1, len(seen) + 1))
            looks += 1
        for _ in range(WRITERS):
            acknowledged += result()[1]
        pending = [write.write_id for write in store.ledger.pending(TABLE, limit=1000)]
        assert _seen(store) == list(range(1, WRITERS * WRITES + 1))
    assert looks > 1
    assert sorted(pending) == sorted(acknowledged)
    for writer in range(WRITERS):
        own = [write_id for write_id in pending if write_id.startswith(f"r1/writer-{writer}/")]
        assert own == [f"r1/writer-{writer}/out{n}" for n in range(WRITES)]


def _race_for_leases(url: str, number: int, barrier: Barrier) -> list[str]:
    with open_store(url) as store:
        won = []
        for n in range(ROUNDS):
            barrier.wait()
            try:
                store.leases.acquire(f"table/{n}", f"racer-{number}", 600.0)
                won.append(f"table/{n}")
            except LeaseHeld:
                pass
        return won


def test_of_two_that_race_for_a_lease_exactly_one_wins(url: str) -> None:
    open_store(url).close()
    first, second = answers_of(_race_for_leases, url, processes=2)
    assert sorted(first + second) == sorted(f"table/{n}" for n in range(ROUNDS))


def _take_turns(url: str, number: int, barrier: Barrier) -> list[int]:
    with open_store(url) as store:
        fences: list[int] = []
        barrier.wait()
        while len(fences) < 10:
            try:
                lease = store.leases.acquire("one", f"p{number}", 600.0)
            except LeaseHeld:
                continue
            fences.append(lease.fence)
            store.leases.release(lease)
        return fences


def test_processes_never_share_a_fence(url: str) -> None:
    open_store(url).close()
    fences = answers_of(_take_turns, url, processes=3)
    assert sorted(fence for mine in fences for fence in mine) == list(range(1, 31))
    assert all(mine == sorted(mine) for mine in fences)


def _race_to_seal(url: str, number: int, barrier: Barrier) -> list[str]:
    """Two attempts at the same write, both alive: an engine that was taken for dead, and its successor."""
    with open_store(url) as store:
        ledger, sealed = store.ledger, []
        for n in range(ROUNDS):
            begun = intent(f"r1/job/out{n}", attempt=number)
            barrier.wait()
            ledger.open(begun)
            barrier.wait()
            try:
                ledger.seal(begun, CONTENTS)
                sealed.append(begun.buffer)
            except EngineLost:
                pass
        return sealed


def test_of_two_attempts_at_one_write_exactly_one_seals(url: str) -> None:
    open_store(url).close()
    sealed = [buffer for each in answers_of(_race_to_seal, url, processes=2) for buffer in each]
    with open_store(url) as store:
        ledger = store.ledger
        pending = [write.intent.buffer for write in ledger.pending(TABLE, limit=100)]
        assert sorted(pending) == sorted(sealed)
        assert len(pending) == len(ledger.leftovers(TABLE)) == ROUNDS


def _mark(url: str, number: int, barrier: Barrier) -> None:
    """A consolidator that takes whatever is sealed and marks it, in an order of its own."""
    with open_store(url) as store:
        ledger = store.ledger
        for n in range(ROUNDS):
            barrier.wait()
            batch = ledger.pending(TABLE, limit=1000)[:: -1 if number else 1]
            barrier.wait()
            with suppress(WritesMoved):
                ledger.mark_tried(batch)
            ledger.mark_committed(TABLE, {write.write_id: n for write in batch if f"/round{n}/" in write.write_id})


def test_two_consolidators_with_the_same_batch_do_not_wait_for_each_other_for_ever(url: str) -> None:
    ids = [f"r1/round{n}/out{m}" for m in range(10) for n in range(ROUNDS)]
    with open_store(url) as store:
        ledger = store.ledger
        for write_id in ids:
            ledger.open(intent(write_id))
            ledger.seal(intent(write_id), CONTENTS)
        answers_of(_mark, url, processes=2)
        assert {ledger.state(write_id) for write_id in ids} == {"committed"}

"""Very many sealed writes: commits, turns and manifests stay within their bounds, and every row is there."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from catchment.commit.publisher import TURN_SECONDS
from catchment.formats.iceberg.buffered import BATCH
from catchment.formats.iceberg.consolidate import MERGE_MANIFESTS_AT
from catchment.plan.model import JobPlan
from catchment.store.writes import Contents, Entry
from tests.concurrency.invariants import check
from tests.concurrency.waiting import await_pending, await_sleep, held, worker_of
from tests.ledgers import Filled
from tests.spark.lake import LiveEngine, Pending, lake_depot, table, writing

Start = Callable[..., LiveEngine]
MORE = 40
_numbers = itertools.count(1)


def one_row(name: str) -> JobPlan:
    return writing("SELECT id FROM range(0, 1, 1, 1)", table(name), mode="append")


def sealed(engine: LiveEngine, filled: Filled, name: str) -> tuple[Pending, Entry]:
    """Let an engine seal a write while nobody can publish it."""
    waiting = engine.start_job(one_row(name))
    await_pending(filled, name, 1)
    return waiting, filled.ledger.pending(table(name).address, limit=1)[0]


def seal_copies(filled: Filled, write: Entry, count: int, *branches: str) -> None:
    """Seal copies of a write, each with a file of its own, to the branches in turn: as very many engines would."""
    assert write.contents is not None
    [descriptor] = write.contents.descriptors
    for branch, _ in zip(itertools.cycle(branches), range(count), strict=False):
        number = next(_numbers)
        buffer = f"{write.intent.buffer}-{number}"
        path = descriptor["file-path"].replace(write.intent.buffer, buffer)
        Path(buffer).mkdir()
        shutil.copy(descriptor["file-path"], path)
        intent = replace(write.intent, write_id=f"copy-{number}/job/out", buffer=buffer, branch=branch)
        filled.ledger.open(intent)
        filled.ledger.seal(intent, Contents(({**descriptor, "file-path": path},), 1, write.contents.bytes, 1))


def writes_per_commit(engine: LiveEngine, name: str) -> list[int]:
    return [len(entry["write_ids"]) for entry in engine.inspect("snapshots", table(name))["snapshots"]]


def rows(engine: LiveEngine, name: str) -> int:
    return int(engine.value(f"SELECT count(*) FROM lake.raw.{name}"))


@pytest.mark.slow
def test_a_commit_takes_no_more_than_a_batch(engine: LiveEngine, filled: Filled, fresh: str) -> None:
    with held(filled.store, fresh):
        waiting, first = sealed(engine, filled, fresh)
        seal_copies(filled, first, BATCH + MORE, "main")
    waiting.done()
    engine.run(one_row(fresh))  # whoever writes next publishes what a turn has left
    assert max(writes_per_commit(engine, fresh)) == BATCH
    assert sum(writes_per_commit(engine, fresh)) == rows(engine, fresh) == BATCH + MORE + 2
    check(engine, fresh)


@pytest.mark.slow
def test_a_turn_ends_even_if_more_is_waiting(
    engine: LiveEngine, root: Path, start_engine: Start, filled: Filled, fresh: str
) -> None:
    engine.run(one_row(fresh))
    sleeper = start_engine(lake_depot(root), key="sleeper", fault="marked:stop")
    sleeper.ready()
    with held(filled.store, fresh):
        waiting, first = sealed(sleeper, filled, fresh)
        seal_copies(filled, first, BATCH + MORE, "main")
    await_sleep(worker_of(sleeper))  # after its first commit
    time.sleep(TURN_SECONDS)
    os.kill(worker_of(sleeper), signal.SIGCONT)
    waiting.done()
    assert filled.ledger.count_pending(table(fresh).address) == MORE + 1
    engine.run(one_row(fresh))
    assert rows(engine, fresh) == BATCH + MORE + 3
    check(engine, fresh)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_manifests_are_merged_in_time(engine: LiveEngine, filled: Filled, fresh: str) -> None:
    def manifests() -> int:
        return int(engine.value(f"SELECT count(*) FROM lake.raw.{fresh}.manifests"))

    engine.run(one_row(fresh))
    engine.ask(f"ALTER TABLE lake.raw.{fresh} CREATE BRANCH side")
    with held(filled.store, fresh):
        waiting, first = sealed(engine, filled, fresh)
    waiting.done()
    # Neighbours that go to different branches do not share a snapshot: each is a manifest of its own.
    for _ in range(2):
        seal_copies(filled, first, 120, "main", "side")
        engine.recover(table(fresh))
    assert manifests() > MERGE_MANIFESTS_AT
    for copies in (1, 120):
        seal_copies(filled, first, copies, "main", "side")
        engine.recover(table(fresh))
        assert manifests() < MERGE_MANIFESTS_AT
    assert rows(engine, fresh) == 1 + 1 + 60 + 60 + 1 + 60
    assert engine.value(f"SELECT count(*) FROM lake.raw.{fresh} VERSION AS OF 'side'") == 1 + 60 + 60 + 60

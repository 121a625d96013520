"""Many writers of one Paimon table, with engines that die: every cell is right in the end."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from catchment.errors import EngineLost
from catchment.plan.model import Dataset
from tests.concurrency.waiting import worker_of
from tests.ledgers import Filled, end_leases
from tests.spark.hosts import Host
from tests.spark.lake import LiveEngine, by, paimon_table, writing
from tests.spark.paimon.jobs import keyed

Start = Callable[..., LiveEngine]
POINTS = ("data-written", "before-sealed", "sealed", "before-swap", "swap-applied", "before-marked")
pytestmark = pytest.mark.slow


@pytest.fixture
def target(fresh: str) -> Dataset:
    return paimon_table(fresh)


def test_sixteen_writers_each_with_a_column_of_its_own(
    older: Host, start_older: Start, filled: Filled, target: Dataset
) -> None:
    writers, keys, run = 16, 20, f"r-{target.table}"
    columns = ", ".join(f"CAST(NULL AS BIGINT) AS c{n}" for n in range(writers))
    engine = {"merge_engine": "partial-update"}
    older.run(keyed(f"SELECT id, {columns} FROM range({keys})", target, **engine))
    jobs = [
        keyed(f"SELECT id, id * 100 + {n} AS c{n} FROM range({keys})", target, name=f"j{n}", **engine)
        for n in range(writers)
    ]
    points = random.Random(14).choices(POINTS, k=4)
    victims = [start_older(key=f"victim-{n}", fault=f"{point}:kill") for n, point in enumerate(points)]
    sent = [((*victims, older)[n % 5], each) for n, each in enumerate(jobs)]
    pending = [(engine.start_job(each, run=run), engine, each) for engine, each in sent]
    answers = [(waiting.answer(), engine, each) for waiting, engine, each in pending]
    lost = [(engine, each) for answer, engine, each in answers if isinstance(answer, EngineLost)]
    assert lost
    for victim in victims:
        end_leases(filled.store, worker_of(victim))
    for again in [older.start_job(each, run=run, number=2) for _, each in lost]:
        again.done()
    expected = [(id, *(id * 100 + n for n in range(writers))) for id in range(keys)]
    assert older.rows(f"SELECT * FROM {target.identifier} ORDER BY id") == expected


def test_the_newest_partition_grows_while_older_ones_are_replaced(
    older: Host, start_older: Start, target: Dataset
) -> None:
    parts, days = (by("identity", "day"),), 3
    old = f"SELECT id, 0 AS version, CAST(id % {days} AS INT) AS day FROM range(12)"
    older.run(writing(old, target, mode="append", partitions=parts))
    batch, stream = start_older(key="batch"), older
    sent = []
    for n in range(1, 5):
        grows = f"SELECT {100 + n}L AS id, 0 AS version, {days} AS day"
        anew = f"SELECT id, {n} AS version, CAST(id % {days} AS INT) AS day FROM range(12)"
        sent.append(stream.start_job(writing(grows, target, name=f"grow{n}", mode="append", partitions=parts)))
        replace = writing(anew, target, name=f"anew{n}", mode="overwrite-partitions", partitions=parts)
        sent.append(batch.start_job(replace))
        sent[-1].done()
    for pending in sent[::2]:
        pending.done()
    grown = older.rows(f"SELECT id FROM {target.identifier} WHERE day = {days} ORDER BY id")
    assert [row[0] for row in grown] == [101, 102, 103, 104]
    replaced = older.rows(f"SELECT id, version FROM {target.identifier} WHERE day < {days} ORDER BY id")
    assert replaced == [(id, 4) for id in range(12)]

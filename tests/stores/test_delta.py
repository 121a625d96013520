"""Delta tables on S3: two engines commit at the same time, and nothing is lost or there twice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from catchment.engine import packages
from catchment.engine.protocol import Facts
from catchment.plan.model import Dataset, JobPlan, Rewrite
from tests.concurrency.waiting import until, worker_of
from tests.ledgers import end_leases
from tests.servers.gate import Gate
from tests.servers.s3 import SECRET, S3Server
from tests.spark.lake import UNPREPARED, LiveEngine, by, engine_plan, maintaining, writing
from tests.spark.racing import race
from tests.stores.lakes import Lake

JOBS, ROUNDS = 8, 20


@pytest.fixture(scope="module")
def older(on_s3: Lake, store: S3Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LiveEngine, Gate]]:
    """An engine on the older line of Spark, and the gate through which it reaches the store."""
    gate = Gate(store.endpoint)
    conf = {**store.spark_conf(), "spark.hadoop.fs.s3a.endpoint": gate.endpoint}
    depots = replace(on_s3.depot("events"), conf=conf), on_s3.depot("lenient")
    plan = engine_plan(*depots, key="older", metastore=on_s3.metastore, conf=UNPREPARED, spark="3.5")
    engine = LiveEngine(plan, tmp_path_factory.mktemp("older"), (SECRET,))
    engine.ready(patience=280)
    yield engine, gate
    engine.process.stop(grace=5)
    gate.stop()


def appending(target: Dataset, number: int, **more: Any) -> JobPlan:
    sql = f"SELECT id FROM range({10 * number}, {10 * number + 10}, 1, 1)"
    return writing(sql, target, name=f"job-{number}", mode="append", **more)


def ids(engine: LiveEngine, target: Dataset) -> list[int]:
    return [row[0] for row in engine.rows(f"SELECT id FROM {target.identifier} ORDER BY id")]


@pytest.mark.slow
def test_two_engines_append_at_once_and_a_third_is_killed(on_s3: Lake, tmp_path: Path) -> None:
    target = Dataset("dataos://events:raw/t", "events", "delta", "raw", "t", "s3a://lake/events/raw/t")
    here, there = on_s3.here, on_s3.there
    pending = [(here, there)[n % 2].start_job(appending(target, n)) for n in range(JOBS)]
    last = max(int(each.done()[0].snapshot_id or 0) for each in pending)

    on_s3.kill("swap-applied", appending(target, JOBS), run="r", logs=tmp_path)
    [report] = here.run(appending(target, JOBS), run="r", number=2)
    assert (report.rows, report.snapshot_id) == (10, str(last + 1))
    assert ids(there, target) == list(range(10 * (JOBS + 1)))


def compact_while_leased(lake: Lake, engine: LiveEngine, target: Dataset, asked: Rewrite) -> None:
    """Compact a table whose lease somebody holds: the files are rewritten, and the commit waits."""
    many = len(lake.files(str(target.path)))
    with lake.ledger() as filled:
        lease = filled.store.leases.acquire(f"table/{target.path}", "a writer who takes his time", 600.0)
        waiting = engine.start_maintenance(target, asked)
        until(lambda: len(lake.files(str(target.path))) > many)
        assert not waiting.is_answered()
        filled.store.leases.release(lease)
    assert isinstance(waiting.answer(), Facts)


@pytest.mark.exhaustive
@pytest.mark.slow
def test_where_the_store_refuses_nothing_a_compaction_takes_the_lease_for_its_commit_alone(
    on_s3: Lake, older: tuple[LiveEngine, Gate], tmp_path: Path
) -> None:
    target = Dataset("dataos://lenient:raw/small", "lenient", "delta", "raw", "small", "s3a://lenient/events/raw/small")
    here, there = on_s3.here, on_s3.there
    for number, engine in enumerate((here, older[0])):
        here.run(appending(target, 2 * number))
        here.run(appending(target, 2 * number + 1))
        compact_while_leased(on_s3, engine, target, Rewrite())
        assert here.health(target).files == 1
    for fault in ("before-swap", "swap-applied"):
        there.run(appending(target, 4))
        there.run(appending(target, 5))
        on_s3.kill(fault, maintaining(target, Rewrite()), run=fault, logs=tmp_path / fault)
        here.maintain(target, Rewrite())
        assert here.health(target).files == 1
    assert ids(here, target) == sorted([*range(60), *range(40, 60)])


@pytest.mark.slow
def test_where_the_store_refuses_nothing_a_compaction_takes_the_lease_to_apply_deletion_vectors(
    on_s3: Lake, tmp_path: Path
) -> None:
    target = Dataset("dataos://lenient:raw/less", "lenient", "delta", "raw", "less", "s3a://lenient/events/raw/less")
    here, asked = on_s3.here, Rewrite(properties={"delete-file-threshold": "1", "min-file-size-bytes": "1"})
    here.run(appending(target, 0, properties={"delta.enableDeletionVectors": "true"}))
    here.ask(f"DELETE FROM {target.identifier} WHERE id = 7")
    assert here.health(target).delete_files == 1
    # OPTIMIZE finds nothing to do here, so that only REORG can come to this point, which is under the lease.
    on_s3.kill("before-swap", maintaining(target, asked), run="dies", logs=tmp_path)
    compact_while_leased(on_s3, here, target, asked)
    assert here.health(target).delete_files == 0
    assert ids(here, target) == [0, 1, 2, 3, 4, 5, 6, 8, 9]


@pytest.mark.slow
def test_of_two_commits_of_one_version_s3_refuses_one(
    on_s3: Lake, older: tuple[LiveEngine, Gate], store: S3Server
) -> None:
    sparks = packages.install(on_s3.here.plan, print), packages.install(older[0].plan, print)
    won = race("s3a://lake/raced/t/_delta_log", sparks, store.spark_conf(), ROUNDS)
    assert all(one != two for one, two in won)
    log = store.data / "lake" / "raced" / "t" / "_delta_log"
    names = [(log / f"{version:020}.json").read_text() for version in range(ROUNDS)]
    assert names == ["one\n" if one else "two\n" for one, _ in won]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["append", "overwrite-partitions"])
def test_a_commit_that_an_older_spark_sends_too_late_is_refused(
    on_s3: Lake, older: tuple[LiveEngine, Gate], fresh: str, mode: str
) -> None:
    def adding(number: int, mode: str = "append") -> JobPlan:
        sql = f"SELECT id, {number} AS part FROM range({10 * number}, {10 * number + 10})"
        return writing(sql, target, name=f"job-{number}", mode=mode, partitions=(by("identity", "part"),))

    target = Dataset(f"dataos://events:raw/{fresh}", "events", "delta", "raw", fresh, f"s3a://lake/events/raw/{fresh}")
    engine, gate = older
    created = int(on_s3.here.run(adding(0))[0].snapshot_id or 0)
    gate.close("hold", at=rf"PUT .*/{fresh}/_delta_log/0*{created + 1}\.json", seconds=600, only=True)
    late = engine.start_job(adding(1, mode))
    until(lambda: bool(gate.refused))  # it has seen that there is no such version
    with on_s3.ledger() as filled:
        end_leases(filled.store, worker_of(engine))
    assert on_s3.here.run(adding(2))[0].snapshot_id == str(created + 1)
    gate.open()
    assert late.done()[0].rows == 10
    assert ids(on_s3.there, target) == list(range(30))

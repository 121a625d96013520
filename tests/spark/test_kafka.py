"""Topics of a real Kafka: every record is written once, and whatever is wrong with a topic has a name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from catchment.errors import EngineLost
from catchment.plan.model import Dataset
from tests.concurrency.invariants import check, ids
from tests.concurrency.waiting import until, worker_of
from tests.ledgers import Filled, end_leases
from tests.matrices import exhaustive
from tests.servers.kafka import PASSWORD, Broker
from tests.spark.lake import LiveEngine, delta_table, output, table
from tests.spark.streaming import streaming, told
from tests.spark.topics import consuming, read_once, records, topic

Start = Callable[..., LiveEngine]


@pytest.mark.slow
def test_each_run_writes_the_records_that_have_arrived(
    engine: LiveEngine, root: Path, fresh: str, broker: Broker
) -> None:
    broker.create(fresh)
    broker.send(fresh, range(1, 7))
    pending = engine.start_job(consuming(root, fresh, maxOffsetsPerTrigger="4"))
    [report] = pending.done()
    assert (report.rows, ids(engine, fresh)) == (6, [1, 2, 3, 4, 5, 6])
    last = told(pending, "batch")[-1]  # those before it are told only if they take their time
    assert (last["batch"], last["rows"], last["lag"]["maxOffsetsBehindLatest"]) == (1, 2, "0")
    assert engine.run(consuming(root, fresh)) == ()
    broker.send(fresh, [7])
    assert engine.run(consuming(root, fresh))[0].rows == 1
    assert ids(engine, fresh) == [1, 2, 3, 4, 5, 6, 7]
    check(engine, fresh)


@pytest.mark.slow
def test_records_as_they_are_and_the_answer_of_one_moment(
    engine: LiveEngine, root: Path, fresh: str, broker: Broker
) -> None:
    broker.create(fresh, partitions=1)
    broker.transaction(fresh, [1, 2], commit=True)
    broker.transaction(fresh, [3], commit=False)
    broker.send_values(fresh, [(4, None)])
    sql = "select cast(key as string) id, cast(value as string) text, offset from source"
    engine.run(read_once(topic(fresh, format="kafka"), table(fresh), sql))
    found = engine.rows(f"select id, get_json_object(text, '$.id') from `lake`.raw.{fresh} order by offset")
    assert found == [("1", "1"), ("2", "2"), ("4", None)]  # what was aborted is not there
    parsed = read_once(topic(fresh), table(f"{fresh}_b"), endingOffsets=json.dumps({fresh: {"0": 2}}))
    engine.run(parsed)
    assert ids(engine, f"{fresh}_b") == [1, 2]


@pytest.mark.slow
def test_a_password_opens_the_topic_and_is_in_no_log(
    engine: LiveEngine, root: Path, fresh: str, broker: Broker
) -> None:
    broker.create(fresh)
    broker.send(fresh, [1])
    engine.run(consuming(root, fresh, depot="guarded"))
    assert ids(engine, fresh) == [1]
    assert not [file for file in engine.log_dir.rglob("*.log") if PASSWORD in file.read_text()]
    assert PASSWORD not in str(engine.rows("SET"))


def refused(engine: LiveEngine, root: Path, name: str, **asked: str) -> str:
    """The code with which a stream is refused, at the place of its input."""
    failed = engine.fail(consuming(root, name, **asked))
    assert failed.where is not None
    assert failed.hint
    return failed.code


@pytest.mark.slow
def test_what_cannot_be_read_says_why(engine: LiveEngine, root: Path, fresh: str, broker: Broker) -> None:
    broker.create(fresh)
    assert refused(engine, root, f"{fresh}-gone") == "input-not-found"
    assert refused(engine, root, fresh, depot="stranger") == "no-permission"
    assert refused(engine, root, fresh, depot="nobody") == "storage-unavailable"
    once = {depot: engine.fail(read_once(topic(fresh, depot), table(fresh))) for depot in ("stranger", "nobody")}
    assert {depot: failed.code for depot, failed in once.items()} == {
        "stranger": "no-permission",
        "nobody": "storage-unavailable",
    }
    assert engine.fail(read_once(topic(f"{fresh}-gone"), table(fresh))).code == "input-not-found"


@pytest.mark.slow
def test_a_record_that_does_not_fit_fails_its_batch(engine: LiveEngine, root: Path, fresh: str, broker: Broker) -> None:
    broker.create(fresh)
    broker.send_values(fresh, [(1, '{"id": 1}'), (2, '{"id": "two"}')])
    count = streaming(root, fresh, records(topic(fresh)), sql="select 1L id, 'd' day from source")
    assert engine.fail(count).code == "bad-rows"  # although no column is needed
    assert engine.fail(consuming(root, fresh)).code == "bad-rows"


@pytest.mark.slow
def test_records_that_were_deleted_before_they_were_read_are_missed(
    engine: LiveEngine, root: Path, fresh: str, broker: Broker
) -> None:
    broker.create(fresh, partitions=1)
    broker.send(fresh, [1, 2])
    engine.run(consuming(root, fresh))
    broker.send(fresh, [3, 4])
    broker.delete_records(fresh, before=3, partitions=1)
    assert refused(engine, root, fresh) == "source-history-gone"
    engine.run(consuming(root, fresh, failOnDataLoss="false"))
    assert ids(engine, fresh) == [1, 2, 4]


@pytest.mark.slow
def test_a_topic_that_was_created_again_is_another_one(
    engine: LiveEngine, root: Path, fresh: str, broker: Broker
) -> None:
    broker.create(fresh, partitions=1)
    broker.send(fresh, [1])
    engine.run(consuming(root, fresh))
    broker.delete(fresh)
    until(lambda: refused(engine, root, fresh) == "input-not-found")
    broker.create(fresh, partitions=1)
    broker.send(fresh, [2, 3])  # so many that its offsets are in range
    assert refused(engine, root, fresh) == "source-history-gone"


POINTS = ("before-data-written", "before-sealed", "before-swap", "swap-applied", "batch-written")


@pytest.mark.parametrize("point", ["sealed", *exhaustive(*POINTS)])
@pytest.mark.slow
def test_whoever_goes_on_after_a_kill_writes_the_rest_and_nothing_twice(
    engine: LiveEngine, root: Path, start_engine: Start, fresh: str, filled: Filled, broker: Broker, point: str
) -> None:
    broker.create(fresh)
    broker.send(fresh, range(1, 7))
    log = delta_table(fresh, root)
    both = (output("rows", table(fresh), mode="append", name="lake"), output("rows", log, mode="append", name="log"))
    job = consuming(root, fresh, *both, maxOffsetsPerTrigger="4")
    victim = start_engine(key="victim", fault=f"{point}:kill")
    assert isinstance(victim.start_job(job).answer(), EngineLost)
    end_leases(filled.store, worker_of(victim))
    broker.send(fresh, [7, 8])
    engine.run(job)
    assert ids(engine, fresh) == list(range(1, 9))
    assert _ids(engine, log) == list(range(1, 9))
    check(engine, fresh)


def _ids(engine: LiveEngine, log: Dataset) -> list[int]:
    return [row[0] for row in engine.rows(f"select id from delta.`{log.path}` order by id")]


@pytest.mark.slow
@pytest.mark.exhaustive
def test_the_older_line_of_spark_goes_on_where_the_newer_one_stopped(
    engine: LiveEngine, start_spark_3: Start, root: Path, fresh: str, broker: Broker
) -> None:
    older = start_spark_3()
    broker.create(fresh, partitions=1)
    broker.send(fresh, [1, 2])
    engine.run(consuming(root, fresh))
    broker.send(fresh, [3])
    older.run(consuming(root, fresh))
    broker.send(fresh, [4])
    engine.run(consuming(root, fresh))
    assert ids(engine, fresh) == [1, 2, 3, 4]
    broker.send(fresh, [5, 6])
    broker.delete_records(fresh, before=5, partitions=1)
    assert refused(older, root, fresh) == "source-history-gone"
    assert refused(older, root, f"{fresh}-gone") == "input-not-found"
    assert refused(older, root, fresh, depot="stranger") == "no-permission"
    assert refused(older, root, fresh, depot="nobody") == "storage-unavailable"


@pytest.mark.slow
def test_a_stream_survives_its_broker(engine: LiveEngine, root: Path, fresh: str, broker: Broker) -> None:
    """The broker is killed and started again while a stream waits for records."""
    broker.create(fresh)
    broker.send(fresh, [1])
    endless = streaming(root, fresh, records(topic(fresh)), trigger="processing-time", interval=0.2)
    pending = engine.start_job(endless)
    pending.wait_for("batch")
    broker.stop()
    broker.start()
    broker.send(fresh, [2])
    pending.wait_for("batch")
    engine.cancel(pending)
    assert pending.failed().code == "cancelled"
    assert ids(engine, fresh) == [1, 2]

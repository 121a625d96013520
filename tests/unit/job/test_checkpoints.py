"""What may change in a stream that has a checkpoint, and the identity of its batches."""

from __future__ import annotations

from dataclasses import replace

import pytest

from catchment.engine.protocol import RunJob
from catchment.job.checkpoints import About, about, batch_identity, changes, replaced
from catchment.run_model import RunRequest, began_millis
from tests.spark.lake import HERE, job, output, reading, step, table

OFFSETS = 'v1\n{"batchWatermarkMs":0,"batchTimestampMs":1767323045678,"conf":{}}\n{"logOffset":4}'


def described(sql: str = "select id from source", spark: str = "4.1.2", stateful: tuple[str, ...] = ()) -> About:
    source = replace(reading("source", table("a")), stream=True)
    written = output("rows", table("b"), mode="append")
    planned = job(written, inputs=[source, reading("names", table("n"))], steps=[step("rows", sql)])
    return about(RunJob("x", planned, "flow", "run", 1, RunRequest()), spark, stateful, {"source": "id-1"})


def test_the_identity_of_a_batch_is_that_of_its_entry_in_the_log() -> None:
    found = batch_identity(OFFSETS, "0b5f1c2e-6b1f", 4)
    assert found == "20260102-030405-0b5f1c2e-6b1f-4"
    assert began_millis(found) == 1767323045000


def test_static_inputs_may_change_and_streams_may_not() -> None:
    assert described().inputs == {"source": "iceberg dataos://lake:raw/a"}
    other = replace(described(), inputs={"source": "iceberg dataos://lake:raw/c"})
    [change] = changes(described(), other)
    assert change == "input source: iceberg dataos://lake:raw/a before, iceberg dataos://lake:raw/c now"


def test_a_dataset_that_takes_the_place_of_another_is_noticed() -> None:
    other = replace(described(), identities={"source": "id-2"})
    assert list(replaced(described(), other)) == ["source"]
    assert not replaced(described(), described())
    assert not replaced(replace(described(), identities={}), other)  # a checkpoint that an earlier version has begun
    assert not list(changes(described(), other))


def test_sql_without_memory_may_change_and_sql_with_memory_may_not() -> None:
    other = "select id, 1 one from source"
    assert not list(changes(described(), described(other, spark="3.5.8")))
    remembering = ("rows",)
    [change] = changes(described(stateful=remembering), described(other, stateful=remembering))
    assert change.startswith("step rows: SELECT id FROM source before")
    [change] = changes(described(stateful=remembering), described(spark="3.5.8", stateful=remembering))
    assert change == "Spark: 4.1 before, 3.5 now"
    [change] = changes(described(), described(stateful=remembering))
    assert "none before, rows now" in change


@pytest.mark.parametrize("sql", ["SELECT  id\nFROM source -- all of them", "select id from source;"])
def test_the_spelling_of_sql_makes_no_difference(sql: str) -> None:
    remembering = ("rows",)
    assert not list(changes(described(stateful=remembering), described(sql, stateful=remembering)))


def test_outputs_stay() -> None:
    assert list(changes(described(), replace(described(), outputs={})))
    assert HERE

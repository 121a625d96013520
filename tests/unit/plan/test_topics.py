"""Plans that read topics of Kafka: streams unless told otherwise, and never written."""

from __future__ import annotations

from pathlib import Path

import pytest

from catchment.plan.model import Dataset, InputPlan
from tests.unit.plan.flows import INPUT, OUTPUT, J, flow, place, prepare

PROJECT = """\
depots:
  drop: {kind: files, location: ./dropzone}
  lakehouse: {kind: iceberg, location: ./lake}
  broker: {kind: kafka, location: "one:9092, two:9092", conf: {security.protocol: SSL}}
"""
TOPIC = "dataos://broker:none/orders.eu"
JSON = ", format: kafkajson, schemaType: spark, schemaString: id BIGINT"


def reading(more: str = "", read: str = TOPIC, **others: str) -> J:
    return J("a", read=read, read_more=more, **others)


def planned(directory: Path, job: J) -> InputPlan:
    prepared = prepare(directory, flow(job), PROJECT)
    assert not [each for each in prepared.diagnostics if each.is_error], prepared.diagnostics
    return prepared.require()[1].jobs[0].inputs[0]


def errors(directory: Path, job: J) -> list[tuple[str, int]]:
    found = [each for each in prepare(directory, flow(job), PROJECT).diagnostics if each.is_error]
    assert all(each.hint for each in found)
    return [place(each)[:2] for each in found]


@pytest.mark.parametrize("read", [TOPIC, "dataos://broker:default/orders.eu?acl=r"])
def test_a_topic_is_a_stream_with_one_address(tmp_path: Path, read: str) -> None:
    source = planned(tmp_path, reading(read=read))
    assert source.dataset == Dataset(TOPIC, "broker", "kafka", topic="orders.eu")
    assert (source.stream, source.dataset.target) == (True, TOPIC)


def test_offsets_can_be_named(tmp_path: Path) -> None:
    source = planned(tmp_path, reading(""", options: {startingOffsets: '{"orders.eu": {"0": 23}}'}"""))
    assert source.options == {"startingoffsets": '{"orders.eu": {"0": 23}}'}


def test_a_topic_can_be_read_once(tmp_path: Path) -> None:
    source = planned(tmp_path, reading(JSON + ", isStream: false, options: {endingOffsets: latest}"))
    assert (source.stream, source.schema, source.dataset.format) == (False, "id BIGINT", "kafkajson")


MISTAKES = {
    "a collection": (reading(read="dataos://broker:sales/orders"), "bad-address", INPUT),
    "no name of a topic": (reading(read="dataos://broker:none/orders/eu"), "bad-address", INPUT),
    "no topic": (reading(read="dataos://broker:none"), "no-dataset", INPUT),
    "JSON without a schema": (reading(", format: kafkajson"), "missing-field", INPUT),
    "records with a schema": (
        reading(", schemaType: spark, schemaString: id BIGINT"),
        "unsupported-by-format",
        INPUT,
    ),
    "another format": (reading(", format: json"), "format-mismatch", INPUT),
    "another topic": (reading(", options: {subscribe: other}"), "unsupported-option", INPUT),
    "other servers": (reading(", options: {kafka.bootstrap.servers: evil:9092}"), "unsupported-option", INPUT),
    "headers of parsed records": (reading(JSON + ", options: {includeHeaders: true}"), "unsupported-option", INPUT),
    "the end of a stream": (reading(", options: {endingOffsets: latest}"), "unsupported-option", INPUT),
    "the pace of a batch": (
        reading(", isStream: false, options: {maxOffsetsPerTrigger: 5}"),
        "unsupported-option",
        INPUT,
    ),
    "no offsets": (reading(", options: {startingOffsets: erliest}"), "bad-value", INPUT),
    "offsets of no batch": (
        reading(", isStream: false, options: {startingOffsets: latest}"),
        "bad-value",
        INPUT,
    ),
    "half a truth": (reading(", options: {failOnDataLoss: perhaps}"), "bad-value", INPUT),
    "no number": (reading(", options: {maxOffsetsPerTrigger: many}"), "bad-value", INPUT),
    "a window": (reading(", incremental: {context: c, sql: select * from c}"), "unsupported-stream-source", INPUT),
    "commits": (reading(", isStream: false, incremental: {by: snapshot}"), "unsupported-by-snapshot", INPUT),
    "bad rows": (reading(JSON + ", badRows: drop"), "unsupported-bad-rows", INPUT),
    "a schema in a topic": (
        reading(", format: kafkajson, schemaPath: 'dataos://broker:none/schema'"),
        "bad-address",
        INPUT,
    ),
    "a topic as an output": (
        J("a", write="dataos://broker:none/orders?acl=rw"),
        "unsupported-by-format",
        OUTPUT,
    ),
    "a checkpoint in a topic": (
        reading(streaming="checkpointLocation: 'dataos://broker:none/state'"),
        "bad-checkpoint",
        12,
    ),
}


@pytest.mark.parametrize(("job", "code", "line"), MISTAKES.values(), ids=MISTAKES.keys())
def test_what_a_topic_cannot_do_is_refused_at_its_place(tmp_path: Path, job: J, code: str, line: int) -> None:
    assert (code, line) in errors(tmp_path, job)

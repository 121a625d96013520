"""Plans of streams: what a job becomes, and what a stream cannot do."""

from __future__ import annotations

from pathlib import Path

import pytest

from catchment.plan.model import JobPlan, StreamPlan
from tests.unit.plan.flows import DEPENDENCIES, FILES, INPUT, JOB_LINES, OUTPUT, TABLE, J, flow, place, prepare

PROJECT = """\
engines:
  default: {conf: {spark.ui.enabled: "false"}}
  cluster: {master: "spark://master:7077"}
depots:
  drop: {kind: files, location: ./dropzone}
  lakehouse: {kind: iceberg, location: ./lake}
  toys: {kind: toy, location: ./toys}
  far: {kind: iceberg, location: warehouse, catalog: {type: rest, uri: "http://catalog"}}
  own: {kind: iceberg, location: "s3://bucket/own", catalog: {type: jdbc, uri: "jdbc:postgresql://host/catalog"}}
  emr:
    {kind: iceberg, location: "s3://bucket/emr", catalog: {type: jdbc, uri: "jdbc:postgresql://host/catalog"},
    conf: {spark.hadoop.fs.s3.impl: org.apache.hadoop.fs.s3a.S3AFileSystem}}
settings: {linger: 5s}
"""
STREAM = ", format: json, isStream: true"
ONCE = "triggerMode: Once"
KEYS = "onClause: old.id = new.id, whenClause: MATCHED THEN DELETE"
WINDOW = ", incremental: {context: c, sql: select * from c}"
STREAMING = 12
"""The line of `streaming`, if the first job has it."""


def stream(name: str = "a", **more: str) -> J:
    return J(name, **{"read_more": STREAM, **more})


def planned(directory: Path, *jobs: J) -> tuple[JobPlan, ...]:
    prepared = prepare(directory, flow(*jobs), PROJECT)
    assert not [each for each in prepared.diagnostics if each.is_error], prepared.diagnostics
    return prepared.require()[1].jobs


def errors(directory: Path, *jobs: J) -> list[tuple[str, int]]:
    found = prepare(directory, flow(*jobs), PROJECT).diagnostics
    assert all(each.hint for each in found if each.is_error)
    return [place(each)[:2] for each in found if each.is_error]


def test_a_stream_has_a_plan(tmp_path: Path) -> None:
    [job] = planned(tmp_path, stream(streaming="triggerMode: ProcessingTime, triggerDuration: 10 seconds"))
    assert [source.stream for source in job.inputs] == [True]
    assert isinstance(job.stream, StreamPlan)
    assert (job.stream.trigger, job.stream.interval, job.stream.endless) == ("processing-time", 10.0, True)
    assert job.stream.checkpoint == str(tmp_path / ".catchment" / "streams" / "flow" / "a")
    assert [output.linger for output in job.outputs] == [0.0]  # a batch waits for nobody


def test_a_job_without_streams_has_none(tmp_path: Path) -> None:
    [job] = planned(tmp_path, J("a", read_more=", format: json, isStream: false"))
    assert job.stream is None


@pytest.mark.parametrize(
    ("location", "place"),
    [
        ("dataos://drop:none/state/a?acl=rw", "dropzone/state/a"),
        ("dataos://lakehouse:sys/state?acl=rw", "lake/sys/state"),
        ("./state", "state"),
        ("dataos://emr:sys/state?acl=rw", "s3://bucket/emr/sys/state"),
    ],
)
def test_a_checkpoint_is_in_a_depot_or_in_the_project(tmp_path: Path, location: str, place: str) -> None:
    [job] = planned(tmp_path, stream(streaming=f'{ONCE}, checkpointLocation: "{location}"'))
    assert job.stream is not None
    expected = place if "://" in place else str(tmp_path / place)
    assert (job.stream.checkpoint, job.stream.endless) == (expected, False)


@pytest.mark.parametrize(
    ("location", "code"),
    [
        ("/elsewhere/state", "bad-checkpoint"),
        ("./../state", "bad-checkpoint"),
        ("dataos://drop:none/../state", "address-escapes-depot"),
        ("dataos://dorp:none/state", "unknown-depot"),
        ("dataos://far:none/state", "bad-checkpoint"),
        ("dataos://own:sys/state", "bad-checkpoint"),  # only Iceberg reaches it
        ("state", "bad-address"),
        ("dataos://drop:none/trips/state", "bad-checkpoint"),  # Spark would read it as data
        ("dataos://drop:none/trips", "bad-checkpoint"),
    ],
)
def test_a_checkpoint_leaves_neither_and_is_beside_no_data(tmp_path: Path, location: str, code: str) -> None:
    assert errors(tmp_path, stream(streaming=f'checkpointLocation: "{location}"')) == [(code, STREAMING)]


MISTAKES = {
    "no stream": (J("a", streaming=ONCE), "no-stream", STREAMING),
    "a format without streams": (
        stream(read="dataos://toys:raw/t", read_more=", isStream: true"),
        "unsupported-stream-source",
        INPUT,
    ),
    "an incremental stream": (stream(read_more=STREAM + WINDOW), "unsupported-stream-source", INPUT),
    "dropped rows": (stream(read_more=STREAM + ", badRows: drop"), "unsupported-bad-rows", INPUT),
    "an option of a batch": (
        stream(read=TABLE, read_more=", isStream: true, options: {snapshot-id: 1}"),
        "unsupported-option",
        INPUT,
    ),
    "an option of a stream": (
        J("a", read_more=", format: json, options: {maxFilesPerTrigger: 1}"),
        "unsupported-option",
        INPUT,
    ),
    "a replaced table": (stream(mode="overwrite"), "unsupported-stream-output", OUTPUT),
    "an added result": (stream(streaming="outputMode: complete"), "unsupported-stream-output", OUTPUT),
    "changes as additions": (stream(streaming="outputMode: update"), "unsupported-stream-output", OUTPUT),
    "a direct commit": (stream(write_more=", commit: direct"), "unsupported-stream-output", OUTPUT),
    "a conflict": (
        stream(mode="overwrite-partitions", partitions="{type: identity, column: x}", write_more=", conflict: fail"),
        "unsupported-stream-output",
        OUTPUT,
    ),
    "a batch that waits": (stream(write_more=", linger: 5s"), "unsupported-stream-output", OUTPUT),
    "a cluster without a checkpoint": (stream(compute="cluster"), "no-checkpoint", INPUT),
    "files that become their own input": (
        stream(write="dataos://drop:none/trips?acl=rw"),
        "overwrites-own-input",
        OUTPUT,
    ),
}


@pytest.mark.parametrize(("job", "code", "line"), MISTAKES.values(), ids=MISTAKES.keys())
def test_what_a_stream_cannot_do_is_refused_at_its_place(tmp_path: Path, job: J, code: str, line: int) -> None:
    assert (code, line) in errors(tmp_path, job)


@pytest.mark.parametrize(
    "job",
    [
        stream(streaming="outputMode: complete", mode="overwrite"),
        stream(streaming="outputMode: update", mode="overwrite", merge=KEYS),
        stream(mode="overwrite", merge=KEYS),
        stream(mode="overwrite-partitions", partitions="{type: identity, column: x}"),
        stream(write=FILES, write_more=", format: parquet", read="dataos://drop:none/in"),
        stream(
            read=TABLE,
            read_more=", isStream: true, options: {stream-from-timestamp: 0}",
            write=TABLE[:-11] + "o?acl=rw",
        ),
    ],
)
def test_what_a_stream_can_do(tmp_path: Path, job: J) -> None:
    assert errors(tmp_path, job) == []


def test_nobody_waits_for_a_stream_without_an_end(tmp_path: Path) -> None:
    after = J("b", needs="a", write="dataos://lakehouse:raw/other?acl=rw")
    assert errors(tmp_path, stream(), after) == [("waits-for-stream", DEPENDENCIES + JOB_LINES)]
    assert errors(tmp_path, stream(streaming=ONCE), after) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("./cp/one", "./cp/one"),
        ("./cp/one", "./cp/../cp/one"),
        ("./cp", "./cp/one"),
        ("./cp/one", "./cp"),
        ("./lake/cp", "dataos://lakehouse:cp/one"),
        ("./.catchment/streams/flow/b", ""),
        ("dataos://far:cp/one", "dataos://far:cp/one"),
    ],
)
def test_two_jobs_have_no_directory_in_common(tmp_path: Path, one: str, other: str) -> None:
    project = PROJECT.replace("warehouse", "s3a://bucket")
    jobs = stream(streaming=checkpoint(one)), second(checkpoint(other))
    found = [each for each in prepare(tmp_path, flow(*jobs), project).diagnostics if each.is_error]
    assert [place(each)[:2] for each in found] == [("bad-checkpoint", (STREAMING if other else INPUT) + JOB_LINES)]
    assert found[0].hint


def test_two_jobs_have_checkpoints_side_by_side(tmp_path: Path) -> None:
    assert errors(tmp_path, stream(streaming=checkpoint("./cp/one")), second(checkpoint("./cp/one1"))) == []
    assert errors(tmp_path, stream(), second("")) == []


def second(streaming: str) -> J:
    return stream("b", streaming=streaming, write="dataos://lakehouse:raw/other?acl=rw")


def checkpoint(location: str) -> str:
    return f'{ONCE}, checkpointLocation: "{location}"' if location else ""

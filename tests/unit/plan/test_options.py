"""Reader and writer options: each of them has an effect, or is refused at its position."""

from __future__ import annotations

from pathlib import Path

import pytest

from catchment.errors import Diagnostic
from tests.unit.plan.flows import INPUT, OUTPUT, TABLE, J, flow, prepare

DELTA = "dataos://log:raw/t?acl=rw"
FILES = "dataos://drop:none/out?acl=rw"
PROJECT = """\
engines: {old: {spark: "3.5"}}
depots:
  drop: {kind: files, location: ./dropzone}
  lakehouse: {kind: iceberg, location: ./lake}
  log: {kind: delta, location: ./log}
"""
MERGE = "onClause: old.id = new.id, whenClause: MATCHED THEN DELETE"
CSV, DIRECT = ", format: csv", ", commit: direct"


def found(directory: Path, job: J) -> tuple[Diagnostic, ...]:
    return prepare(directory, flow(job), PROJECT).diagnostics


def with_option(name: str, value: str = "1", **more: str) -> J:
    return J("a", options=f'extraOptions: {{{name}: "{value}"}}', **more)


@pytest.mark.parametrize(
    "job",
    [
        with_option("overwrite-mode", mode="overwrite"),
        with_option("OVERWRITE-MODE", mode="overwrite", write_more=DIRECT),
        with_option("no-such-option"),
        with_option("snapshot-property.x"),
        with_option("isolation-level", mode="overwrite", write_more=DIRECT),
        with_option("delete-granularity", write_more=DIRECT),
        with_option("fanout-enabled", mode="overwrite", merge=MERGE),
        with_option("partitionoverwritemode", mode="overwrite"),
        with_option("txnAppId", write=DELTA),
        with_option("overwriteSchema", write=DELTA, mode="overwrite"),
        with_option("replaceWhere", write=DELTA),
        with_option("compression", write=DELTA, mode="overwrite", merge=MERGE),
        with_option("inferSchema", write=FILES, write_more=CSV),
        with_option("header", write=FILES, write_more=", format: parquet"),
        with_option("spark.sql.sources.partitionOverwriteMode", write=FILES, write_more=", format: parquet"),
        with_option("Parquet.block.size", write=FILES, write_more=", format: parquet"),  # Hadoop minds the case
        with_option("orc.stripe.size", write=FILES, write_more=", format: parquet"),
        with_option("Snapshot-Property.reason", write_more=DIRECT),
    ],
)
def test_an_option_without_effect_is_refused_where_it_is_given(job: J, tmp_path: Path) -> None:
    [problem] = found(tmp_path, job)
    assert (problem.code, problem.is_error) == ("unsupported-option", True)
    assert problem.where is not None
    line = flow(job).splitlines()[OUTPUT - 1]
    assert (problem.where.line, line[problem.where.column - 1 :].startswith(job.options.split("{")[1][:8])) == (
        OUTPUT,
        True,
    )


@pytest.mark.parametrize(
    "job",
    [
        with_option("target-file-size-bytes"),
        with_option("Fanout-Enabled", write_more=DIRECT),
        with_option("branch", mode="overwrite", merge=MERGE),
        with_option("snapshot-property.reason", write_more=DIRECT),
        with_option("maxRecordsPerFile", write=DELTA),
        with_option("replaceWhere", write=DELTA, mode="overwrite"),
        with_option("header", write=FILES, write_more=CSV),
        with_option("parquet.block.size", write=FILES, write_more=", format: parquet"),
        with_option("avro.mapred.deflate.level", write=FILES, write_more=", format: avro"),
    ],
)
def test_an_option_with_an_effect_is_taken(job: J, tmp_path: Path) -> None:
    assert found(tmp_path, job) == ()


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        (with_option("Branch", "audit", mode="overwrite"), {"branch": "audit"}),
        (with_option("FANOUT-ENABLED", "true"), {"fanout-enabled": "true"}),
        (with_option("snapshot-property.Reason", write_more=DIRECT), {"snapshot-property.Reason": "1"}),
    ],
)
def test_an_option_is_the_same_in_every_case(job: J, expected: dict[str, str], tmp_path: Path) -> None:
    plan = prepare(tmp_path, flow(job), PROJECT).plan
    assert plan is not None
    assert plan.jobs[0].outputs[0].options == expected


def test_an_option_in_two_cases_is_refused(tmp_path: Path) -> None:
    job = J("a", options="extraOptions: {branch: audit, Branch: main}")
    assert [(problem.code, problem.is_error) for problem in found(tmp_path, job)] == [("unsupported-option", True)]


def reading(name: str, format: str = "csv", more: str = "", **others: str) -> J:
    address = {"iceberg": TABLE, "delta": DELTA}.get(format, "dataos://drop:none/trips")
    return J("a", read=address, read_more=f', format: {format}, options: {{{name}: "1"}}{more}', **others)


@pytest.mark.parametrize(
    "job",
    [
        reading("headers"),
        reading("inferSchema", "json"),
        reading("header", "parquet"),
        reading("quoteAll"),
        reading("compression", "json"),
        reading("mergeSchema"),
        reading("mode", "text"),
        reading("orc.stripe.size", "parquet"),
        reading("Parquet.read.filter", "parquet"),
        reading("recursiveFieldMaxDepth", "avro", compute="old"),
        reading("singleVariantColumn", compute="old"),
        reading("header", "iceberg"),
        reading("streaming-skip-overwrite-snapshots", "iceberg"),
        reading("snapshot-id", "delta"),
        reading("maxFilesPerTrigger", "delta"),
        reading("startingVersion", "delta"),
        reading("path"),
    ],
)
def test_an_option_that_no_reader_knows_is_refused_where_it_is_given(job: J, tmp_path: Path) -> None:
    [problem] = found(tmp_path, job)
    assert (problem.code, problem.is_error) == ("unsupported-option", True)
    assert problem.where is not None
    line = flow(job).splitlines()[INPUT - 1]
    given = job.read_more.split("{")[1][:4]
    assert (problem.where.line, line[problem.where.column - 1 :].startswith(given)) == (INPUT, True)


@pytest.mark.parametrize(
    "job",
    [
        reading("HEADER"),
        reading("inferSchema"),
        reading("multiLine", "json"),
        reading("pathGlobFilter", "text"),
        reading("mergeschema", "parquet"),
        reading("parquet.read.filter", "parquet"),
        reading("recursiveFieldMaxDepth", "avro"),
        reading("singleVariantColumn", "json"),
        reading("Branch", "iceberg"),
        reading("start-snapshot-id", "iceberg"),
        reading("readChangeFeed", "delta"),
        reading('readChangeFeed: "true", startingVersion', "delta"),
        reading("fs.s3a.endpoint", "delta"),
    ],
)
def test_an_option_that_a_reader_knows_is_taken(job: J, tmp_path: Path) -> None:
    assert found(tmp_path, job) == ()


def test_the_hint_names_the_option_that_was_meant(tmp_path: Path) -> None:
    [problem] = found(tmp_path, reading("headers"))
    assert problem.hint == "did you mean `header`?"
    [problem] = found(tmp_path, reading("InferSchemas"))
    assert problem.hint == "did you mean `inferSchema`?"
    [problem] = found(tmp_path, with_option("target-file-size"))
    assert problem.hint == "did you mean `target-file-size-bytes`?"


def test_a_reader_option_is_the_same_in_every_case(tmp_path: Path) -> None:
    plan = prepare(tmp_path, flow(reading("MultiLine", "json")), PROJECT).plan
    assert plan is not None
    assert plan.jobs[0].inputs[0].options == {"multiline": "1"}
    twice = J("a", read_more=", format: csv, options: {header: true, Header: false}")
    assert [(problem.code, problem.is_error) for problem in found(tmp_path, twice)] == [("unsupported-option", True)]


@pytest.mark.parametrize(("name", "format"), [("end-snapshot-id", "iceberg"), ("readChangeFeed", "delta")])
def test_the_part_of_the_history_is_not_chosen_twice(name: str, format: str, tmp_path: Path) -> None:
    by_snapshot = ", incremental: {by: snapshot}"
    assert [problem.code for problem in found(tmp_path, reading(name, format, by_snapshot))] == ["misplaced-key"]


def test_rows_are_deleted_from_the_branch_that_is_read_in_every_case(tmp_path: Path) -> None:
    reading = f"{{name: t, dataset: '{TABLE}', options: {{BRANCH: audit}}}}"
    deleting = f"""\
name: f
version: v1
type: workflow
workflow:
  dag:
  - name: a
    spec:
      envs: {{}}
      stack: flare:5.0
      flare:
        job:
          inputs: [{reading}]
          actions: [{{name: delete_from_dataset, input: t, deleteWhere: id = 1}}]
"""
    plan = prepare(tmp_path, deleting, PROJECT).plan
    assert plan is not None
    assert plan.jobs[0].actions[0].output.options == {"branch": "audit"}


def test_the_hint_says_how_partitions_are_replaced(tmp_path: Path) -> None:
    [problem] = found(tmp_path, with_option("overwrite-mode", mode="overwrite"))
    assert "overwrite-mode: dynamic" in str(problem.hint)
    assert "saveMode: overwrite" in str(problem.hint)


def test_compression_of_a_merge_is_refused(tmp_path: Path) -> None:
    [problem] = found(tmp_path, J("a", mode="overwrite", merge=MERGE, options="compressionType: zstd"))
    assert problem.code == "unsupported-option"


def test_a_way_to_replace_partitions_that_there_is_not(tmp_path: Path) -> None:
    [problem] = found(tmp_path, with_option("partitionOverwriteMode", mode="overwrite"))
    assert problem.code == "bad-value"


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        (J("a", write=FILES, properties="write.format.default: orc"), ("unsupported-option", True)),
        (J("a", write_more=", conflict: fail"), ("unsupported-conflict", True)),
        (J("a", read=TABLE, read_more=", schemaString: 'a INT', schemaType: spark"), ("unsupported-by-format", True)),
        (J("a", read_more=", format: json, schemaType: spark"), ("ignored-key", False)),
        (J("a", properties="overwrite-mode: dynamic"), ("ignored-key", False)),
        (with_option("partitionOverwriteMode", value="dynamic", write=FILES), ("ignored-key", False)),
    ],
)
def test_a_key_without_effect_is_told(job: J, expected: tuple[str, bool], tmp_path: Path) -> None:
    assert [(problem.code, problem.is_error) for problem in found(tmp_path, job)] == [expected]


def test_a_retry_without_a_count_is_told(tmp_path: Path) -> None:
    text = flow(J("a")).replace("    spec:", "    retry: {strategy: Always, duration: 10s}\n    spec:")
    assert [problem.code for problem in prepare(tmp_path, text, PROJECT).diagnostics] == ["ignored-key"]


@pytest.mark.parametrize(
    ("options", "codes"),
    [
        ("incremental-between: '5,10'", []),
        ("incremental-between: 'monday,tuesday', incremental-between-scan-mode: delta", []),
        ("incremental-between-timestamp: '5,10'", []),
        ("scan.timestamp: '2026-3-1 12:00:00'", []),
        ("incremental-between: '10,5'", ["bad-value"]),
        ("incremental-between: '10'", ["bad-value"]),
        ("incremental-between-timestamp: 'monday,tuesday'", ["bad-value"]),
        ("incremental-between: '5,10', incremental-between-scan-mode: all", ["bad-value"]),
        ("incremental-between-scan-mode: delta", ["unsupported-option"]),
        ("scan.snapshot-id: first", ["bad-value"]),
        ("scan.timestamp: tomorrow", ["bad-value"]),
        ("scan.timestamp-millis: '1.5'", ["bad-value"]),
        ("scan.snapshot-id: 1, scan.tag-name: one", ["bad-value"]),
        ("scan.snapshot: 1", ["unsupported-option"]),
    ],
)
def test_the_history_of_paimon_is_asked_for_in_terms_that_it_knows(
    options: str, codes: list[str], tmp_path: Path
) -> None:
    given = J("a", read="dataos://pond:raw/t?acl=r", read_more=f", options: {{{options}}}")
    problems = prepare(tmp_path, flow(given), f"{PROJECT}  pond: {{kind: paimon, location: ./pond}}\n").diagnostics
    assert [each.code for each in problems if each.is_error] == codes
    last = options.rsplit(", ", 1)[-1].partition(":")[0]
    column = flow(given).splitlines()[INPUT - 1].index(f"{last}:") + 1
    assert all(each.where and (each.where.line, each.where.column) == (INPUT, column) for each in problems)

"""Every problem that only the plan can see has a code and an exact place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.unit.plan.flows import ADDRESS_COLUMN, FILES, INPUT, JOB_LINES, OUTPUT, PROJECT, J, flow, place, prepare

ITEM_COLUMN = 11
SECOND = JOB_LINES
MONTH = "{type: month, column: at, name: m}"
MERGE = "onClause: old.id = new.id, whenClause: MATCHED THEN DELETE"
YEAR = "{type: year, column: at, name: y}"


@dataclass(frozen=True)
class Case:
    name: str
    jobs: tuple[J, ...]
    code: str
    line: int
    column: int
    message: str = ""
    error: bool = True


def reading(name: str, address: str, code: str, more: str = ", format: json") -> Case:
    return Case(name, (J("a", read=address, read_more=more),), code, INPUT, ADDRESS_COLUMN)


def writing(name: str, address: str, code: str, more: str = "") -> Case:
    return Case(name, (J("a", write=address, write_more=more),), code, OUTPUT, ADDRESS_COLUMN)


CASES = [
    reading("no address", "trips.json", "bad-address"),
    reading("unknown key of an address", "dataos://drop:none/x?branch=b", "bad-address"),
    reading("bad acl", "dataos://drop:none/x?acl=w", "bad-acl"),
    reading("escape", "dataos://drop:none/../x", "address-escapes-depot"),
    reading("encoded escape", "dataos://drop:none/%2e%2e/x", "address-escapes-depot"),
    reading("unknown depot", "dataos://dorp:none/x", "unknown-depot"),
    reading("no dataset", "dataos://drop:none", "no-dataset"),
    reading("no format", "dataos://drop:none/x", "no-format", ""),
    reading("json from tables", "dataos://lakehouse:raw/x", "format-mismatch"),
    reading("table without collection", "dataos://lakehouse:none/x", "bad-address", ""),
    writing("read-only output", "dataos://lakehouse:raw/x?acl=r", "read-only-output"),
    writing("iceberg to files", "dataos://drop:none/x?acl=rw", "format-mismatch", ", format: iceberg"),
    writing("escape of an output", "dataos://drop:none/../x?acl=rw", "address-escapes-depot"),
    writing("name of a table", "dataos://lakehouse:raw/a.b?acl=rw", "bad-address"),
    Case(
        "output without acl", (J("a", write="dataos://lakehouse:raw/x"),), "no-acl", OUTPUT, ADDRESS_COLUMN, error=False
    ),
    Case(
        "files over their own input",
        (J("a", read="dataos://drop:none/out/day1", write=FILES),),
        "overwrites-own-input",
        OUTPUT,
        ITEM_COLUMN,
    ),
    Case(
        "a conflict that files cannot see",
        (J("a", write=FILES, write_more=", conflict: fail"),),
        "unsupported-conflict",
        OUTPUT,
        97,
    ),
    Case(
        "a conflict that a direct commit does not see",
        (J("a", mode="overwrite", write_more=", commit: direct, conflict: rerun"),),
        "unsupported-conflict",
        OUTPUT,
        122,
        "cannot be used with `commit: direct`",
    ),
    Case(
        "files that others are to share a commit with",
        (J("a", write=FILES, write_more=", linger: 5s"), J("b", write=FILES)),
        "unsupported-linger",
        OUTPUT,
        ITEM_COLUMN,
        "parquet",
    ),
    Case(
        "a direct commit that others are to share",
        (J("a", write_more=", commit: direct, linger: 5s"), J("b", write_more=", linger: 0")),
        "unsupported-linger",
        OUTPUT,
        ITEM_COLUMN,
        "buffer",
    ),
    Case("a wait for nobody", (J("a", write_more=", linger: 5s"),), "linger-alone", OUTPUT, ITEM_COLUMN),
    Case(
        "a wait for a job that waits for this one",
        (J("a", write_more=", linger: 5s"), J("b", "a")),
        "linger-alone",
        OUTPUT,
        ITEM_COLUMN,
    ),
    Case("a merge into files", (J("a", write=FILES, mode="overwrite", merge=MERGE),), "unsupported-merge", OUTPUT, 99),
    Case("two wait for each other", (J("a", "b"), J("b", "a")), "dependency-cycle", 18, 20, "a -> b -> a"),
    Case(
        "three wait in a circle",
        (J("free"), J("a", "c"), J("b", "a"), J("c", "free, b")),
        "dependency-cycle",
        40,
        26,
        "b -> a -> c -> b",
    ),
    Case("unknown compute", (J("a", compute="bg"),), "unknown-compute", 6, 5, error=False),
    Case(
        "other partitions",
        (J("a", partitions=MONTH), J("b", partitions=YEAR)),
        "partition-specs-differ",
        OUTPUT + SECOND,
        144,
    ),
    Case(
        "one partition more",
        (J("a", partitions=MONTH), J("b", partitions=f"{MONTH}, {{type: identity, column: v}}")),
        "partition-specs-differ",
        OUTPUT + SECOND,
        180,
    ),
    Case(
        "partitions undeclared",
        (J("a", partitions=MONTH), J("b")),
        "partition-spec-undeclared",
        OUTPUT + SECOND,
        ITEM_COLUMN,
        error=False,
    ),
    Case(
        "other properties",
        (J("a", properties="k: v"), J("b", properties="k: w")),
        "properties-differ",
        OUTPUT + SECOND,
        ITEM_COLUMN,
        error=False,
    ),
    Case(
        "full overwrite beside an append",
        (J("a"), J("b", mode="overwrite")),
        "full-overwrite-shared",
        OUTPUT + SECOND,
        ITEM_COLUMN,
        error=False,
    ),
    Case(
        "partitions replaced beside an append",
        (J("a"), J("b", mode="overwrite-partitions")),
        "append-and-replace-shared",
        OUTPUT + SECOND,
        ITEM_COLUMN,
        error=False,
    ),
    Case(
        "all files replaced beside an append",
        (J("a", write=FILES), J("b", write=FILES, mode="overwrite")),
        "full-overwrite-shared",
        OUTPUT + SECOND,
        ITEM_COLUMN,
        error=False,
    ),
    Case(
        "files within files",
        (J("a", write=FILES), J("b", write="dataos://drop:none/out/inner?acl=rw")),
        "nested-file-outputs",
        OUTPUT + SECOND,
        ITEM_COLUMN,
        error=False,
    ),
    Case(
        "files read while written",
        (J("a", write=FILES), J("b", read="dataos://drop:none/out")),
        "read-while-written",
        INPUT + SECOND,
        ITEM_COLUMN,
        error=False,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_bad_plan(case: Case, tmp_path: Path) -> None:
    prepared = prepare(tmp_path, flow(*case.jobs))
    (found,) = prepared.diagnostics
    assert place(found) == (case.code, case.line, case.column)
    assert found.is_error == case.error
    assert (prepared.plan is None) == case.error
    assert case.message in found.message
    assert found.hint


def test_two_cycles_are_both_told(tmp_path: Path) -> None:
    found = prepare(tmp_path, flow(J("a", "b"), J("b", "a"), J("x", "y"), J("y", "x"))).diagnostics
    assert [each.message.partition(": ")[2] for each in found] == ["a -> b -> a", "x -> y -> x"]


def test_problems_of_workflow_project_and_plan_come_together(tmp_path: Path) -> None:
    text = flow(J("a", "nobody", read="dataos://dorp:none/x"), J("b", write="dataos://lakehouse:raw/x?acl=r"))
    found = prepare(tmp_path, text).diagnostics
    assert [each.code for each in found] == ["unknown-dependency", "unknown-depot", "read-only-output"]
    found = prepare(tmp_path, text, PROJECT.replace("iceberg", "jdbc")).diagnostics
    assert [each.code for each in found] == ["unknown-dependency", "unsupported-depot-kind"]


def test_a_format_that_the_workflow_file_was_refused_for_is_not_told_twice(tmp_path: Path) -> None:
    found = prepare(tmp_path, flow(J("a", read_more=", format: hudi", write_more=", format: jdbc"))).diagnostics
    assert [each.code for each in found] == ["unsupported-format", "unsupported-format"]


def test_without_a_project_file_no_depot_is_unknown(tmp_path: Path) -> None:
    assert prepare(tmp_path, flow(J("a", read="dataos://dorp:none/x")), project=None).diagnostics == ()


POND = f"{PROJECT}  pond: {{kind: paimon, location: ./pond}}\n"
SHAPES = {
    "a merge engine without a key": ("primary-key-missing", "properties: {merge-engine: aggregation}"),
    "a merge engine that there is not": (
        "bad-value",
        "primaryKey: [id], properties: {merge-engine: newest}",
    ),
    "no number of buckets": ("bad-value", "primaryKey: [id], properties: {bucket: many}"),
    "no bucket": ("bad-value", "primaryKey: [id], properties: {bucket: '0'}"),
    "buckets of what": ("bucket-key-missing", "properties: {bucket: '4'}"),
    "a key without the partition": (
        "primary-key-lacks-partition",
        "primaryKey: [id], partitionBy: [day], properties: {bucket: '4'}",
    ),
    "partitions that keys leave": (
        "overwrite-unsupported",
        "primaryKey: [id], partitionBy: [day], properties: {overwrite-mode: dynamic}",
    ),
    "rows that stay in the partition of their key": (
        "overwrite-unsupported",
        "primaryKey: [id], partitionBy: [day], properties: {merge-engine: first-row}",
    ),
}


@pytest.mark.parametrize(("code", "options"), SHAPES.values(), ids=SHAPES)
def test_a_paimon_table_that_makes_no_sense(tmp_path: Path, code: str, options: str) -> None:
    written = {"write": "dataos://pond:raw/x?acl=rw", "mode": "overwrite", "options": f"paimon: {{{options}}}"}
    text = flow(J("a", **written, compute="old"))
    (found,) = prepare(tmp_path, text, POND).diagnostics
    assert found.where is not None
    key = "primaryKey: [" if "primaryKey" in options else "properties:"
    lines = text.splitlines()
    place = lines[found.where.line - 1].index(key) + (len(key) if key.endswith("[") else 0)
    assert (found.code, found.where.column) == (code, place + 1)


@pytest.mark.parametrize(("mode", "key"), [("append", "id"), ("overwrite", "id"), ("overwrite", "id, day")])
def test_a_paimon_table_that_can_be_written(tmp_path: Path, mode: str, key: str) -> None:
    options = f"paimon: {{primaryKey: [{key}], partitionBy: [day]}}"
    job = J("a", write="dataos://pond:raw/x?acl=rw", mode=mode, options=options, compute="old")
    assert prepare(tmp_path, flow(job), POND).diagnostics == ()


def test_a_primary_key_of_a_table_that_has_none(tmp_path: Path) -> None:
    (found,) = prepare(tmp_path, flow(J("a", options="paimon: {primaryKey: [id]}"))).diagnostics
    assert found.code == "unsupported-primary-key"


def test_what_a_paimon_output_declares(tmp_path: Path) -> None:
    options = "paimon: {primaryKey: [id, day], partitionBy: [day], properties: {bucket: '4', overwrite-mode: dynamic}}"
    job = J("a", write="dataos://pond:raw/x?acl=rw", mode="overwrite", options=options, compute="old")
    made = prepare(tmp_path, flow(job), POND).plan
    assert made is not None
    [output] = made.jobs[0].outputs
    assert [each.column for each in output.primary_key] == ["id", "day"]
    assert [(each.transform, each.column) for each in output.partitions] == [("identity", "day")]
    assert (output.mode, output.properties) == ("overwrite-partitions", {"bucket": "4"})


def test_rows_are_merged_into_a_paimon_table(tmp_path: Path) -> None:
    options = "paimon: {primaryKey: [id]}"
    job = J("a", write="dataos://pond:raw/x?acl=rw", mode="overwrite", merge=MERGE, options=options, compute="old")
    found = prepare(tmp_path, flow(job), POND)
    assert found.plan is not None, found.diagnostics
    assert (found.plan.jobs[0].outputs[0].mode, found.diagnostics) == ("merge", ())


@pytest.mark.parametrize(
    ("properties", "codes"),
    [
        ("merge-engine: deduplicate", ["no-sequence-field", "writers-take-turns"]),
        ("bucket: '4', sequence.field: at", []),
        ("bucket: '4', merge-engine: partial-update", []),
    ],
)
def test_what_writers_of_one_paimon_table_should_know(tmp_path: Path, properties: str, codes: list[str]) -> None:
    options = f"paimon: {{primaryKey: [id], properties: {{{properties}}}}}"
    jobs = [J(name, write="dataos://pond:raw/x?acl=rw", options=options, compute="old") for name in ("a", "b")]
    found = prepare(tmp_path, flow(*jobs), POND).diagnostics
    assert [each.code for each in found] == codes
    ordered = prepare(tmp_path, flow(jobs[0], replace(jobs[1], needs="a")), POND).diagnostics
    assert ordered == ()

"""What happens to bad rows: one rule for `badRows` and Spark's own option, and nothing that would have no effect."""

from __future__ import annotations

from pathlib import Path

import pytest

from catchment.errors import Severity
from catchment.plan.model import BadRows, JobPlan
from tests.unit.plan.flows import TABLE, J, flow, prepare

BAD = "dataos://lakehouse:raw/bad?acl=rw"
QUARANTINE = f', badRows: quarantine, quarantine: "{BAD}"'
WINDOW = ", incremental: {context: all, sql: select * from all, keys: []}"


def planned(directory: Path, more: str, **job: str) -> JobPlan:
    found = prepare(directory, flow(J("a", read_more=f", {more}", **job)))
    assert found.plan is not None, found.diagnostics
    return found.plan.jobs[0]


@pytest.mark.parametrize(
    ("more", "bad_rows", "options"),
    [
        ("format: json", "fail", {}),
        ("format: csv, badRows: Drop", "drop", {}),
        ("format: csv, options: {Mode: FAILFAST, sep: x}", "fail", {"sep": "x"}),
        ("format: json, options: {mode: dropMalformed}", "drop", {}),
        ("format: json, options: {mode: PERMISSIVE}", "keep", {"mode": "PERMISSIVE"}),
        ("format: parquet", "fail", {}),
    ],
)
def test_the_way_of_bad_rows(tmp_path: Path, more: str, bad_rows: BadRows, options: dict[str, str]) -> None:
    [source] = planned(tmp_path, more).inputs
    assert (source.bad_rows, source.options) == (bad_rows, options)


@pytest.mark.parametrize(
    ("code", "more", "place"),
    [
        ("unsupported-bad-rows", "format: parquet, badRows: drop", "badRows"),
        ("unsupported-bad-rows", f"format: json{QUARANTINE}{WINDOW}", "badRows"),
        ("given-twice", "format: json, badRows: drop, options: {mode: FAILFAST}", "mode"),
        ("bad-value", "format: json, options: {mode: strict}", "mode"),
        ("bad-value", "format: json, badRows: ignore", "ignore"),
        ("missing-field", "format: json, badRows: quarantine", "badRows"),
        ("misplaced-key", f'format: json, quarantine: "{BAD}"', "quarantine"),
        ("unsupported-option", "format: json, options: {columnNameOfCorruptRecord: c}", "columnName"),
        ("bad-address", "format: json, badRows: quarantine, quarantine: nowhere", "nowhere"),
        ("unknown-depot", "format: json, schemaPath: 'dataos://none:a/b.avsc'", "'dataos"),
    ],
)
def test_what_has_no_effect_or_no_meaning_is_refused_at_its_place(
    tmp_path: Path, code: str, more: str, place: str
) -> None:
    text = flow(J("a", read_more=f", {more}"))
    [problem] = [each for each in prepare(tmp_path, text).diagnostics if each.is_error]
    assert problem.code == code
    assert problem.where is not None
    assert text.splitlines()[problem.where.line - 1][problem.where.column - 1 :].startswith(place)


def test_a_table_has_no_bad_rows(tmp_path: Path) -> None:
    text = flow(J("a", read="dataos://lakehouse:raw/from", read_more=", badRows: drop"))
    assert [each.code for each in prepare(tmp_path, text).diagnostics] == ["unsupported-bad-rows"]


def test_bad_rows_that_are_kept_are_told(tmp_path: Path) -> None:
    [told] = prepare(tmp_path, flow(J("a", read_more=", format: csv, options: {mode: PERMISSIVE}"))).diagnostics
    assert (told.code, told.severity) == ("bad-rows-kept", Severity.WARNING)


def test_the_quarantine_is_one_more_output_and_the_last_one(tmp_path: Path) -> None:
    job = planned(tmp_path, f"format: json{QUARANTINE}")
    first, last = job.outputs
    assert (first.dataset.address, last.dataset.address) == (TABLE.split("?")[0], BAD.split("?")[0])
    assert (last.name, last.source, last.mode) == ("input-bad-rows", "input-bad-rows", "append")
    assert job.inputs[0].quarantine == last.name


def test_the_depot_of_a_schema_belongs_to_the_engine(tmp_path: Path) -> None:
    project = "depots:\n  drop: {kind: files, location: ./d}\n  lakehouse: {kind: iceberg, location: ./l}\n"
    more = ", format: csv, schemaPath: 'dataos://avro:none/a.avsc'"
    found = prepare(tmp_path, flow(J("a", read_more=more)), f"{project}  avro: {{kind: files, location: ./avro}}\n")
    assert found.plan is not None, found.diagnostics
    [source] = found.plan.jobs[0].inputs
    assert source.schema_file is not None
    assert (source.schema_file.path, source.schema_type) == (str(tmp_path / "avro" / "a.avsc"), "avro")
    assert "avro" in [depot.name for depot in found.plan.engines[0].depots]

"""The workflows as they were published: what is wrong is told, what is clear is understood."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from catchment import plan
from catchment.errors import Position
from catchment.spec import load
from catchment.spec.model import PartitionField, Sort, SortColumn, Toolbox, Workflow

WORKFLOWS = Path(__file__).parents[2] / "workflows"


FORMS = {
    "sink-without-sequence": ["legacy-sink"],
    "trailing-slash": [],
    "plain-paths": [],
    "typed-files": [],
    "given-twice": ["given-twice", "ignored-key", "duplicate-key"],
    "delta-depot": [],
}
"""Old and odd forms that published workflows use, and the warnings that each gets."""


def found(name: str) -> list[tuple[str, str, int, int]]:
    diagnostics = load(WORKFLOWS / name, env={}).diagnostics
    return [(d.severity.value, d.code, d.where.line, d.where.column) for d in diagnostics if d.where]


def workflow(name: str) -> Workflow:
    loaded = load(WORKFLOWS / name, env={}).workflow
    assert loaded
    return loaded


def test_seed_000_as_published_is_refused_with_the_line_to_mend() -> None:
    diagnostic = load(WORKFLOWS / "seed-000-published.yaml", env={}).diagnostics[-1]
    assert found("seed-000-published.yaml") == [
        *found("seed-000.yaml"),  # the syntax error hides nothing
        ("error", "value-and-block", 100, 25),
    ]
    assert "already has the value `ny_taxi_ts` on line 99" in diagnostic.message
    assert diagnostic.hint == "remove `ny_taxi_ts` on line 99, so that the line ends with `sequence:`"


def test_seed_000_repaired_only_warns() -> None:
    assert found("seed-000.yaml") == [
        ("warning", "misplaced-key", 46, 21),
        ("warning", "misplaced-key", 49, 21),
        ("warning", "output-takes-last-step", 81, 23),
    ]


def test_seed_000_becomes_two_writers_of_one_table() -> None:
    one, two = workflow("seed-000.yaml").jobs
    assert (one.name, two.name) == ("nytaxi-vendor-one", "nytaxi-vendor-two")
    for job in (one, two):
        output = job.outputs[0]
        assert output.source == "ny_taxi_ts"
        assert output.dataset == "dataos://lakehouse:raw01/ny_taxi_ts?acl=rw"
        assert output.mode == "append"
        assert [(p.transform, p.column, p.name) for p in output.partitions] == [("month", "date_col", "month")]
        assert output.tags == ("Connect", "NY-Taxi")
        assert output.title == "NY-Taxi Data Partitioned"
        assert job.explain
        assert job.dependencies == ()
    assert (one.outputs[0].format, two.outputs[0].format) == ("iceberg", None)
    assert (one.outputs[0].name, two.outputs[0].name) == ("ny_taxi_ts", "output02")
    assert one.steps[1].sql.endswith("as version, now() as ts_ny_taxi FROM ny_taxi_changed_dateformat")


def test_seed_004_validates() -> None:
    assert found("seed-004.yaml") == []


def test_seed_004_is_read_whole() -> None:
    file = str(WORKFLOWS / "seed-004.yaml")
    read, tool = workflow("seed-004.yaml").jobs
    window = read.inputs[0].incremental
    assert window is not None
    assert (window.context, window.state, window.where) == (
        *("incremental_order_8", {"start": "end"}),
        Position(file, 30, 16),
    )
    values = {"start": "2020-01-01 00:00:00", "end": "2020-02-01 00:00:00"}
    begins = "order_date > '2020-01-01 00:00:00'"
    assert window.window.filled(values) == (
        f"select * from incremental_order_8 where {begins} AND order_date <= '2020-02-01 00:00:00'"
    )
    assert window.newer is not None
    assert window.newer.filled(values) == f"SELECT * FROM incremental_order_8 WHERE {begins}"
    assert [(key.name, key.sql.filled(values), key.where) for key in window.keys] == [
        ("start", "select to_timestamp('2020-01-01 00:00:00')", Position(file, 33, 19)),
        ("end", "select to_timestamp('2020-01-01 00:00:00') + INTERVAL '1' MONTH", Position(file, 36, 19)),
    ]
    output = read.outputs[0]
    assert output.mode == "overwrite-partitions"
    assert output.sort == Sort("global", (SortColumn("order_date", descending=True),))
    assert output.partitions == (PartitionField("day", "order_date", Position(file, 62, 23), "day_partition"),)
    assert "overwrite-mode" not in output.properties
    assert (read.log_level, read.envs["FLARE_AUDIT_MODE"]) == ("WARN", "LOG")
    assert tool.dependencies == (("order-incremental-08", Position(file, 80, 9)),)
    address = "dataos://icebase:sample/order_incremental_08?acl=rw"
    assert tool.toolbox == Toolbox(
        address, "set_version", {"value": "latest"}, Position(file, 78, 18), Position(file, 75, 18)
    )


@pytest.mark.parametrize("name", FORMS)
def test_a_published_form_is_accepted(tmp_path: Path, name: str) -> None:
    shutil.copy(WORKFLOWS / "forms" / f"{name}.yaml", tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "cities.json").write_text("{}")
    prepared = plan.prepare(tmp_path / f"{name}.yaml", env={})
    assert prepared.plan
    assert [each.code for each in prepared.diagnostics] == FORMS[name]


def test_every_form_is_part_of_the_run_of_all() -> None:
    assert {job.where.file for job in workflow("forms/all.yaml").jobs} == {
        str(WORKFLOWS / "forms" / f"{name}.yaml") for name in FORMS
    }

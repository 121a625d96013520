from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from catchment import plan
from catchment.errors import InvalidFiles
from catchment.plan.model import Plan
from tests.unit.plan.flows import PROJECT, TABLE, J, flow, prepare

SEEDS = Path(__file__).parents[2] / "workflows"
SEED_PROJECT = """\
depots:
  thirdparty01: {kind: files, location: ./dropzone}
  lakehouse: {kind: iceberg, location: ./lake, catalog: {type: jdbc}}
"""


def seed(name: str, directory: Path, project: str | None = SEED_PROJECT) -> Path:
    if project:
        (directory / "catchment.yaml").write_text(project)
    return Path(shutil.copy(SEEDS / f"{name}.yaml", directory))


def test_two_writers_of_one_table(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    _, found = plan.prepare(seed("seed-000", tmp_path)).require()
    assert [job.name for job in found.jobs] == ["nytaxi-vendor-one", "nytaxi-vendor-two"]
    (shared,) = found.shared
    assert (shared.jobs, shared.effect) == (("nytaxi-vendor-one", "nytaxi-vendor-two"), "both append")
    one, two = found.jobs
    assert one.inputs[0].dataset.path == f"{root}/dropzone/ny-taxi-data"
    assert one.outputs[0].dataset == two.outputs[0].dataset
    assert one.outputs[0].dataset.identifier == "`lakehouse`.`raw01`.`ny_taxi_ts`"
    assert (two.outputs[0].name, two.outputs[0].source) == ("output02", "ny_taxi_ts")
    assert one.outputs[0].comment == "NY-Taxi Data Partitioned"
    assert one.steps[1].sql_lines
    (engine,) = found.engines
    assert (engine.key, one.engine, two.engine) == ("default", "default", "default")
    assert [depot.name for depot in engine.depots] == ["lakehouse", "thirdparty01"]


def test_the_incremental_workflow_with_its_toolbox_is_planned(tmp_path: Path) -> None:
    _, found = plan.prepare(seed("seed-004", tmp_path, None)).require()
    read, tool = found.jobs
    assert (read.change, tool.depends_on) == (None, (read.name,))
    assert tool.change
    assert (tool.change.dataset, tool.change.published) == (read.outputs[0].dataset, "icebase_published")


def test_the_dataset_of_the_toolbox_is_checked(tmp_path: Path) -> None:
    assert "no-published-catalog" not in [
        each.code for each in plan.prepare(seed("seed-004", tmp_path, None)).diagnostics
    ]
    found = plan.prepare(seed("seed-004", tmp_path)).diagnostics
    (missing,) = [each for each in found if each.is_error]
    assert (missing.code, str(missing.where).rpartition("seed-004.yaml")[2]) == ("no-published-catalog", ":75:18")
    assert "publish: " in str(missing.hint)
    found = plan.prepare(seed("seed-004", tmp_path, "depots: {}\n")).diagnostics
    assert [each.code for each in found if each.is_error] == ["unknown-depot"] * 3


def test_a_missing_workflow_is_a_diagnostic(tmp_path: Path) -> None:
    prepared = plan.prepare(tmp_path / "none.yaml")
    assert [each.code for each in prepared.diagnostics] == ["file-not-found"]
    with pytest.raises(InvalidFiles):
        prepared.require()


def test_warnings_of_the_project_are_shown(tmp_path: Path) -> None:
    text = PROJECT.replace("location: ./lake}", "location: ./lake, catalog: {type: hadoop}}")
    prepared = prepare(tmp_path, flow(J("a")), text)
    assert [each.code for each in prepared.diagnostics] == ["hadoop-catalog"]
    prepared.require()


def test_settings_go_to_the_session_or_to_the_engine(tmp_path: Path) -> None:
    conf = "spark.sql.shuffle.partitions: 4, spark.executor.memory: 2g"
    jobs = (J("a"), J("b", conf=f"{{{conf}}}"), J("c", compute="big"), J("d", compute="old"))
    _, found = prepare(tmp_path, flow(*jobs)).require()
    assert {job.name: job.engine for job in found.jobs} == {"a": "default", "b": "default-2", "c": "big-c", "d": "old"}
    by_key = {engine.key: engine for engine in found.engines}
    assert by_key["default-2"].conf == {"spark.executor.memory": "2g"}
    assert next(job for job in found.jobs if job.name == "b").conf == {"spark.sql.shuffle.partitions": "4"}
    assert by_key["old"].engine.spark == "3.5"


def test_an_order_that_respects_dependencies(tmp_path: Path) -> None:
    _, found = prepare(tmp_path, flow(J("c", "b"), J("b", "a"), J("a"))).require()
    assert [(job.name, job.depends_on) for job in found.jobs] == [("a", ()), ("b", ("a",)), ("c", ("b",))]


def test_the_plan_is_plain_data_and_survives_the_wire(tmp_path: Path) -> None:
    _, found = plan.prepare(seed("seed-000", tmp_path)).require()
    adapter = TypeAdapter(Plan)
    text = json.dumps(adapter.dump_python(found, mode="json"))
    assert adapter.validate_json(text) == found


def test_unconfigured_depots_are_embedded(tmp_path: Path) -> None:
    _, found = prepare(tmp_path, flow(J("a", write=TABLE)), project=None).require()
    assert [(depot.name, depot.kind) for depot in found.engines[0].depots] == [
        ("drop", "embedded"),
        ("lakehouse", "embedded"),
    ]


def test_planning_needs_neither_spark_nor_the_database(tmp_path: Path) -> None:
    file = seed("seed-000", tmp_path)
    program = (
        "import sys; from pathlib import Path; from catchment import plan; plan.prepare(Path(sys.argv[1])).require(); "
        "assert not {'pyspark', 'py4j', 'sqlalchemy'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", program, str(file)], check=True)


def test_the_values_of_a_plan_come_without_yaml() -> None:
    program = "import sys; import catchment.plan.model; assert not {'yaml', 'pydantic'} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", program], check=True)

"""What fails at run time fails in one paragraph, with a code and a place, and leaves nothing half-written."""

import os
import socket
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import pytest

from tests.cli import program, projects
from tests.slow_readers import full_pipe, is_held
from tests.spark.hosts import Host

READ_BACK = "SELECT count(*), count(DISTINCT trip_id) FROM lakehouse.raw.trips"
UNPRIVILEGED = ("setpriv", "--bounding-set=-dac_override,-dac_read_search") if os.geteuid() == 0 else ()
"""Root may write anywhere; without these two capabilities the usual rules hold for it too."""

JOBS = {
    "good": projects.job("good", "SELECT trip_id, vendor_id, fare FROM trips"),
    "missing-column": projects.job("missing-column", "SELECT trip_id, no_such FROM trips"),
    "missing-table": projects.job("missing-table", "SELECT trip_id FROM default.tripz"),
    "bad-syntax": projects.job("bad-syntax", "SELECT trip_id\nFROM trips WHERE = 1"),
    "wrong-type": projects.job("wrong-type", "SELECT 'text' AS trip_id, vendor_id, fare FROM trips", after="good"),
    "no-permission": projects.job("no-permission", "SELECT trip_id FROM trips", to="locked:none/out", form="parquet"),
    "dependant": projects.job("dependant", "SELECT trip_id FROM trips", after="wrong-type"),
}
CODES = {
    "missing-column": "column-not-found",
    "missing-table": "table-or-view-not-found",
    "bad-syntax": "sql-syntax",
    "wrong-type": "schema-mismatch",
    "no-permission": "no-permission",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    settings = projects.SETTINGS.replace("engines:", "  locked: {kind: files, location: ./locked}\nengines:")
    root = projects.make(tmp_path_factory.mktemp("bad"), settings)
    (root / "locked").mkdir(mode=0o555)
    (root / "bad.yaml").write_text(projects.workflow("bad", *JOBS.values()))
    return root


@pytest.fixture(scope="module")
def answer(project: Path) -> program.Answer:
    return program.call("run", "bad.yaml", "-o", "json", cwd=project, prefix=UNPRIVILEGED)


@pytest.fixture(scope="module")
def errors(answer: program.Answer) -> dict[str, Any]:
    return {job["name"]: job["error"] for job in answer.data["jobs"]}


def test_each_failure_has_its_code(answer: program.Answer, errors: dict[str, Any]) -> None:
    assert answer.code == 1
    assert {name: error["code"] for name, error in errors.items() if name in CODES} == CODES
    statuses = {job["name"]: job["status"] for job in answer.data["jobs"]}
    assert (statuses["good"], statuses["dependant"]) == ("succeeded", "skipped")


def test_each_failure_is_one_paragraph_with_a_hint(answer: program.Answer, errors: dict[str, Any]) -> None:
    for name in CODES:
        error = errors[name]
        assert error["hint"], name
        assert error["file"].endswith("bad.yaml"), name
        assert len(error["message"]) < 1000, name
        assert error["code"] in answer.err
    assert "Traceback" not in answer.err
    assert "\tat " not in answer.err


def test_sql_errors_point_into_the_yaml(project: Path, errors: dict[str, Any]) -> None:
    lines = (project / "bad.yaml").read_text().splitlines()
    for job, word in (
        ("bad-syntax", "= 1"),
        ("missing-column", "no_such"),
        ("missing-table", "default.tripz"),
    ):
        number, text = next((number, text) for number, text in enumerate(lines, 1) if word in text)
        assert (errors[job]["line"], errors[job]["column"]) == (number, text.rindex(word) + 1)


@pytest.mark.slow
def test_nothing_half_written(project: Path, answer: program.Answer, lent: Host) -> None:
    assert answer.code == 1
    assert program.call("query", READ_BACK, "-o", "json", cwd=project, java=lent).data["rows"] == [[20, 20]]
    assert list((project / "locked").iterdir()) == []


@pytest.mark.slow
def test_an_engine_that_cannot_start_is_told(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        conf = f"{{spark.driver.port: {taken.getsockname()[1]}, spark.port.maxRetries: 0}}"
        projects.make(tmp_path, projects.SETTINGS.replace("{spark.driver.memory: 1g}", conf))
        (tmp_path / "w.yaml").write_text(projects.workflow("w", projects.job("one", "SELECT trip_id FROM trips")))
        answer = program.call("run", "w.yaml", "--output", "json", cwd=tmp_path)
    assert answer.code != 0
    assert "port-in-use" in answer.out
    assert "error[port-in-use]" in answer.err
    assert "Traceback" not in answer.err


def test_a_run_whose_output_nobody_reads_ends_for_everybody_else(tmp_path: Path, lent: Host) -> None:
    projects.make(tmp_path, f"{projects.SETTINGS}notify: {{told: {{command: [tee, told.json]}}}}\n")
    (tmp_path / "w.yaml").write_text(projects.workflow("w", projects.job("one", "SELECT trip_id FROM trips")))
    (start, way), (reading, writing) = program.entry(lent), full_pipe()
    command, metastore = [*start, "run", "w.yaml", "--notify", "told"], f"sqlite:///{tmp_path}/.catchment/metastore.db"
    with (
        Popen(command, cwd=tmp_path, env=os.environ | way, stdout=PIPE, stderr=writing) as process,
        os.fdopen(reading, "rb") as err,
    ):
        os.close(writing)
        program.wait_until((tmp_path / "told.json").exists, "the hook is told")
        [run] = program.call("runs", "-o", "json", cwd=tmp_path).data["runs"]
        program.wait_until(lambda: not is_held(metastore, run["run_id"]), "the lease is released")
        assert (run["status"], process.poll()) == ("succeeded", None)
        assert b"succeeded" in err.read()
        assert process.stdout is not None
        assert run["run_id"].encode() in process.stdout.read()
    assert process.returncode == 0

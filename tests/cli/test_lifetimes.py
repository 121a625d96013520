"""Runs that are interrupted, killed, resumed, or not alone."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import catchment
from catchment.run.lake import LakeSession
from tests.cli import program, projects
from tests.spark.hosts import Host

NEVER_ENDS = "SELECT max(id) AS trip_id FROM range(0, 1000000000000000)"
"""Days of work for any machine; a sum of as many would fail within seconds, being too large for its type."""
COUNT = "SELECT count(*), count(DISTINCT trip_id) FROM lakehouse.raw.trips"


def running_job(root: Path, running: program.Running) -> str:
    """Wait until a job is in the engine; the id of the run."""
    program.wait_until(lambda: _job_started(root) or running.process.poll() is not None, "a job starts")
    assert running.process.poll() is None, running.told
    return _events(root)[-1].parent.name


def _events(root: Path) -> list[Path]:
    return sorted(root.glob(".catchment/runs/*/events.jsonl"))


def _job_started(root: Path) -> bool:
    return any('"job-started"' in file.read_text() for file in _events(root))


def slow_project(root: Path) -> Path:
    projects.make(root)
    slow = projects.job("slow", NEVER_ENDS)
    (root / "slow.yaml").write_text(projects.workflow("slow", slow, projects.job("later", "SELECT 1", after="slow")))
    return root


def test_ctrl_c_cancels_and_leaves_no_process(tmp_path: Path) -> None:
    with program.begin("run", "slow.yaml", "-o", "json", cwd=slow_project(tmp_path)) as running:
        run_id = running_job(tmp_path, running)
        assert len(running.family()) >= 2
        held = program.call("resume", run_id, cwd=tmp_path)
        assert held.code == 4
        assert "error[lease-held]" in held.err
        assert program.call("runs", "-o", "json", cwd=tmp_path).data["runs"][0]["status"] == "running"
        running.interrupt()
        answer = running.finish()
    assert answer.code == 130
    assert answer.data["status"] == "cancelled"
    assert {job["status"] for job in answer.data["jobs"]} == {"cancelled"}
    assert running.family() == {}
    assert program.call("runs", run_id, "-o", "json", cwd=tmp_path).data["status"] == "cancelled"


@pytest.mark.slow
def test_a_run_that_is_killed_is_taken_over_at_once(tmp_path: Path, lent: Host) -> None:
    slow_project(tmp_path)
    fast = projects.job("fast", "SELECT trip_id FROM trips", to="lakehouse:raw/fast")
    slow = projects.workflow("both", fast, projects.job("slow", NEVER_ENDS, after="fast"))
    (tmp_path / "both.yaml").write_text(slow)
    with program.begin("run", "both.yaml", cwd=tmp_path) as running:  # in a Java of its own, which ends with it
        run_id = running_job(tmp_path, running)
        events = tmp_path / ".catchment" / "runs" / run_id / "events.jsonl"
        program.wait_until(lambda: events.read_text().count('"job-started"') == 2, "the second job starts")
        running.process.kill()
        running.process.wait()
    (tmp_path / "both.yaml").write_text(slow.replace(NEVER_ENDS, "SELECT trip_id FROM trips"))
    assert program.call("runs", "-o", "json", cwd=tmp_path).data["runs"][0]["status"] == "dead"
    resumed = program.call("resume", "-o", "json", cwd=tmp_path, java=lent)
    assert resumed.code == 0, resumed.err
    assert f"the process of run {run_id} has died; this one takes it over" in resumed.err
    jobs = {job["name"]: (job["status"], job["kept"], job["attempts"]) for job in resumed.data["jobs"]}
    assert jobs == {"fast": ("succeeded", True, 1), "slow": ("succeeded", False, 2)}
    assert [output["rows"] for job in resumed.data["jobs"] for output in job["outputs"]] == [20, 20]


@pytest.mark.slow
def test_an_engine_that_is_killed_is_told_and_its_run_can_be_resumed(tmp_path: Path, lent: Host) -> None:
    slow_project(tmp_path)
    fast = projects.job("fast", "SELECT trip_id FROM trips")
    text = projects.workflow("both", fast, projects.job("slow", NEVER_ENDS, after="fast"))
    (tmp_path / "both.yaml").write_text(text)
    with program.begin("run", "both.yaml", "-o", "json", cwd=tmp_path) as running:
        run_id = running_job(tmp_path, running)
        events = tmp_path / ".catchment" / "runs" / run_id / "events.jsonl"
        program.wait_until(lambda: events.read_text().count('"job-started"') == 2, "the second job starts")
        jvm = [pid for pid, command in running.family().items() if "java" in command.split(" ")[0]]
        assert len(jvm) == 1
        os.kill(jvm[0], signal.SIGKILL)
        answer = running.finish()
    assert answer.code == 1
    results = {job["name"]: job for job in answer.data["jobs"]}
    assert results["fast"]["status"] == "succeeded"
    assert results["slow"]["error"]["code"] == "engine-lost"
    assert "error[engine-lost]" in answer.err
    assert running.family() == {}

    (tmp_path / "both.yaml").write_text(text.replace(NEVER_ENDS, "SELECT 100 + trip_id AS trip_id FROM trips"))
    resumed = program.call("resume", run_id, "--output", "json", cwd=tmp_path, java=lent)
    assert resumed.code == 0, resumed.err
    results = {job["name"]: job for job in resumed.data["jobs"]}
    assert resumed.data["run_id"] == run_id
    assert (results["fast"]["attempts"], results["slow"]["attempts"]) == (1, 2)
    assert results["slow"]["outputs"][0]["write_id"] == f"{run_id}/slow/result"
    assert program.call("query", COUNT, "-o", "json", cwd=tmp_path, java=lent).data["rows"] == [[40, 40]]


@pytest.mark.slow
def test_two_runs_at_once_from_the_shell_and_from_python_while_somebody_queries(tmp_path: Path, lent: Host) -> None:
    projects.make(tmp_path)
    for part in (0, 1):
        sql = "SELECT trip_id + {} AS trip_id FROM trips"
        jobs = [projects.job(f"j{number}", sql.format(100 * (2 * part + number))) for number in range(2)]
        (tmp_path / f"w{part}.yaml").write_text(projects.workflow(f"w{part}", *jobs))
    project, seen = catchment.open(tmp_path), []
    with (
        program.begin("run", "w0.yaml", "-q", "-o", "json", cwd=tmp_path, java=lent) as one,
        ThreadPoolExecutor() as pool,
        project.lake() as lake,
    ):
        other = pool.submit(project.run, "w1.yaml")
        while one.process.poll() is None or not other.done():
            seen += rows_so_far(lake)
        answer = one.finish()
        assert (answer.code, answer.err) == (0, "")
        assert other.result().status == "succeeded"
        assert lake.query(COUNT).rows == ((80, 80),)
    assert seen == sorted(seen)
    assert set(seen) <= {0, 20, 40, 60, 80}


def rows_so_far(lake: LakeSession) -> list[int]:
    """How many rows the table has; nothing if there is no table yet."""
    try:
        return [lake.query("SELECT count(*) FROM lakehouse.raw.trips").rows[0][0]]
    except catchment.CatchmentError as error:
        if error.code != "table-or-view-not-found":
            raise
        return []

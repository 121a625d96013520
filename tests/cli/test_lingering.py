"""Jobs of one run that end one by one share a commit, each in an engine of its own; one that fails holds nobody up."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli import program, projects
from tests.spark.hosts import Host

LONGER_THAN_A_TEST = "settings: {linger: 1h}\n"
PER_JOB = projects.SETTINGS.replace('{master: "local[2]"', '{isolation: process, master: "local[1]"')


@pytest.mark.slow
def test_one_commit_publishes_the_writes_of_a_run_when_the_last_has_sealed(tmp_path: Path, lent: Host) -> None:
    project = projects.make(tmp_path / "project", PER_JOB + LONGER_THAN_A_TEST)
    early = projects.job("early", "SELECT * FROM trips WHERE vendor_id = 1")
    between = projects.job("between", "SELECT * FROM trips", to="lakehouse:raw/other")
    late = projects.job("late", "SELECT * FROM trips WHERE vendor_id = 2", after="between")
    (project / "taxi.yaml").write_text(projects.workflow("taxi", early, between, late))
    answer = program.call("run", "taxi.yaml", "-o", "json", cwd=project, java=lent)
    assert answer.code == 0, answer.err
    first, other, last = committed(answer)
    assert first == last != other


@pytest.mark.slow
def test_a_job_that_fails_is_not_waited_for(tmp_path: Path, lent: Host) -> None:
    project = projects.make(tmp_path / "project", projects.SETTINGS + LONGER_THAN_A_TEST)
    writing = (projects.job(f"vendor-{n}", f"SELECT * FROM trips WHERE vendor_id = {n}") for n in (1, 2))
    failing = projects.job("bad", "SELECT trip_id, vendor_id, fare, raise_error('no') AS pickup_datetime FROM trips")
    (project / "taxi.yaml").write_text(projects.workflow("taxi", *writing, failing))
    answer = program.call("run", "taxi.yaml", "-o", "json", cwd=project, java=lent)
    assert answer.code == 1, answer.err
    assert len(set(committed(answer))) == 1
    assert len(committed(answer)) == 2


def committed(answer: program.Answer) -> list[int]:
    """The snapshots of what the succeeded jobs have written."""
    return [output["snapshot_id"] for job in answer.data["jobs"] for output in job["outputs"]]

"""Verbs that change tables, as a person calls them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli import program, projects
from tests.spark.hosts import Host

TRIPS = "dataos://lakehouse:raw/trips"


@pytest.fixture(scope="module")
def project(engine: Host, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a table of two commits."""
    root = projects.make(tmp_path_factory.mktemp("project"))
    first = projects.job("one", "SELECT trip_id FROM trips WHERE trip_id < 10")
    second = projects.job("two", "SELECT trip_id FROM trips WHERE trip_id >= 10", after="one")
    (root / "flow.yaml").write_text(projects.workflow("flow", first, second))
    assert program.call("run", "flow.yaml", cwd=root, java=engine).code == 0
    return root


@pytest.mark.slow
@pytest.mark.exhaustive
def test_changes_are_told_in_words(project: Path, lent: Host) -> None:
    def said(*arguments: str) -> str:
        answer = program.call("table", *arguments, cwd=project, java=lent)
        assert answer.code == 0, answer.err
        return answer.out

    assert f"{TRIPS}: would add column fare double" in said("column", "add", TRIPS, "fare", "double", "--dry-run")
    assert f"{TRIPS}: added column fare double" in said("column", "add", TRIPS, "fare", "double")
    added = said("partition", "add", TRIPS, "bucket", "trip_id", "--buckets", "4", "--as", "shard")
    assert f"{TRIPS}: added partition field bucket of trip_id" in added
    assert "catchment.changed" in said("properties", "show", TRIPS)


@pytest.mark.slow
def test_what_takes_something_away_is_agreed_to_first(project: Path, lent: Host) -> None:
    snapshots = program.call("table", "snapshots", TRIPS, "-o", "json", cwd=project, java=lent).data["snapshots"]
    first = snapshots[0]["snapshot_id"]
    asked = program.call("table", "rollback", TRIPS, first, cwd=project, java=lent)
    assert (asked.code, "not-confirmed" in asked.err) == (2, True)
    assert f"without {snapshots[1]['snapshot_id']}: {snapshots[1]['write_ids'][0]}" in asked.err
    done = program.call("table", "rollback", TRIPS, first, "--yes", "-o", "json", cwd=project, java=lent)
    assert (done.code, done.data["after"], done.data["changed"]) == (0, first, True)
    counted = program.call("query", "SELECT count(*) FROM lakehouse.raw.trips", "-o", "json", cwd=project, java=lent)
    assert counted.data["rows"] == [[10]]


@pytest.mark.slow
def test_a_table_is_dropped_when_that_was_agreed_to(project: Path, lent: Host) -> None:
    (project / "other.yaml").write_text(
        projects.workflow("other", projects.job("one", "SELECT trip_id FROM trips", to="lakehouse:raw/other"))
    )
    assert program.call("run", "other.yaml", cwd=project, java=lent).code == 0
    other = "dataos://lakehouse:raw/other"

    def dropped(*more: str) -> tuple[int, bool]:
        answer = program.call("table", "drop", other, *more, "-o", "json", cwd=project, java=lent)
        there = program.call("table", "ls", "lakehouse", "-o", "json", cwd=project).out
        return answer.code, other not in there

    assert dropped() == (2, False)
    assert dropped("--dry-run") == (0, False)
    assert dropped("--yes") == (0, True)
    assert dropped("--yes") == (2, True)


def test_wrong_requests(tmp_path: Path) -> None:
    for arguments in (("rollback", TRIPS), ("rollback", TRIPS, "1", "--to", "x"), ("properties", "set", TRIPS, "a")):
        answer = program.call("table", *arguments, cwd=tmp_path)
        assert (answer.code, "Usage" in answer.err) == (2, True)
    projects.make(tmp_path / "project")
    refused = program.call("table", "publish", TRIPS, "-o", "json", cwd=tmp_path / "project")
    assert (refused.code, refused.data["error"]["code"]) == (2, "no-published-catalog")

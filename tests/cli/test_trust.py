"""Whom the program trusts with what: secrets, included files, and what it leaves on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli import program, projects
from tests.spark.hosts import Host

SALT = "pepper-pepper-99"
SECRET_SQL = "SELECT trip_id, '${secret:SALT}' AS salt, '${PLACE}' AS place FROM trips"


@pytest.mark.slow
def test_a_secret_of_a_workflow_is_nowhere_but_in_its_rows(tmp_path: Path, lent: Host) -> None:
    """Variables that are no secrets (the place of the lake, a word in a job's name) change nothing that is shown."""
    settings = projects.SETTINGS.replace("./lake}", "'${env:PLACE_OF_LAKES}/${env:LAKE}'}")
    root = projects.make(tmp_path / "project", settings)
    bad = projects.job("orders-north", SECRET_SQL.replace("trip_id", "no_such_column"))
    good = projects.job("orders-south", SECRET_SQL, to="lakehouse:raw/south")
    (root / "dropzone" / "linked").mkdir()
    (root / "dropzone" / "linked" / "a.json").symlink_to(root / "w.yaml")
    linked = projects.job("linked", "SELECT * FROM trips", source="dropzone:none/linked")
    (root / "w.yaml").write_text(projects.workflow("w", bad, good, linked))
    variables = {"SALT": SALT, "PLACE": "here", "LAKE": "north", "PLACE_OF_LAKES": str(tmp_path / "lakes")}
    loose = ("sh", "-c", 'umask 0; exec "$@"', "sh")
    answer = program.call("run", "w.yaml", "-o", "json", cwd=root, prefix=loose, java=lent, **variables)
    assert {job["name"]: job["status"] for job in answer.data["jobs"]} == {
        "orders-north": "failed",
        "orders-south": "succeeded",
        "linked": "failed",
    }
    assert "address-escapes-depot" in answer.out
    assert "no_such_column" in answer.out
    assert SALT not in answer.out + answer.err
    kept = [file for file in (root / ".catchment").rglob("*") if file.is_file()]
    assert [file for file in kept if SALT.encode() in file.read_bytes()] == []
    logs = "".join(file.read_text() for file in kept if file.name.startswith("orders-"))
    assert "***" in logs
    assert {file.stat().st_mode & 0o077 for file in ((root / ".catchment"), *(root / ".catchment").rglob("*"))} == {0}
    assert list((tmp_path / "lakes" / "north" / "raw").iterdir())

"""`catchment recover`, as a person meets it."""

import os
import pty
import subprocess
from pathlib import Path

import pytest

from catchment.store import open_store
from tests.cli import program, projects
from tests.ledgers import Filled
from tests.matrices import exhaustive

COUNT = "SELECT count(*), count(DISTINCT trip_id) FROM lakehouse.raw.trips"
TABLE = "dataos://lakehouse:raw/trips"


def answer_at_a_terminal(words: bytes, *arguments: str, cwd: Path) -> program.Answer:
    """Run the program with a terminal to answer at."""
    ours, theirs = pty.openpty()
    command = [program.PROGRAM, *arguments]
    try:
        with subprocess.Popen(
            command, cwd=cwd, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            os.write(ours, words)
            out, err = process.communicate(timeout=60)
    finally:
        os.close(ours)
        os.close(theirs)
    return program.Answer(process.returncode, out, err)


def test_files_are_removed_only_by_whoever_agrees(tmp_path: Path) -> None:
    projects.make(tmp_path)
    with open_store(f"sqlite:///{tmp_path}/.catchment/metastore.db") as store:
        filled = Filled(store)
        filled.abandon("r/j/o", target=TABLE)
        answer = answer_at_a_terminal(b"n\n", "recover", cwd=tmp_path)
        assert answer.code == 0
        assert "Remove the files of 1 abandoned writes?" in answer.err
        assert filled.left(TABLE) == ["/lake/data/r.j.o"]


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_run_that_was_killed_after_its_last_commit_is_resumed_without_its_inputs(tmp_path: Path) -> None:
    projects.make(tmp_path)
    (tmp_path / "one.yaml").write_text(projects.workflow("one", projects.job("one", "SELECT trip_id FROM trips")))
    killed = program.call("run", "one.yaml", "-o", "json", cwd=tmp_path, CATCHMENT_FAULT="marked:kill")
    assert killed.data["jobs"][0]["error"]["code"] == "engine-lost"
    (tmp_path / "dropzone" / "trips.json").unlink()  # whoever computed it again would miss it
    resumed = program.call("resume", killed.data["run_id"], "-o", "json", cwd=tmp_path)
    assert resumed.code == 0
    [output] = resumed.data["jobs"][0]["outputs"]
    assert output["rows"] == 20
    assert program.call("query", COUNT, "-o", "json", cwd=tmp_path).data["rows"] == [[20, 20]]


@pytest.mark.slow
def test_what_a_killed_engine_sealed_is_published(tmp_path: Path) -> None:
    projects.make(tmp_path)
    (tmp_path / "one.yaml").write_text(projects.workflow("one", projects.job("one", "SELECT trip_id FROM trips")))
    killed = program.call("run", "one.yaml", "-o", "json", cwd=tmp_path, CATCHMENT_FAULT="sealed:kill")
    assert killed.code == 1
    assert killed.data["jobs"][0]["error"]["code"] == "engine-lost"
    write_id = f"{killed.data['run_id']}/one/result"

    [writing] = program.call("writers", "-o", "json", cwd=tmp_path).data["tables"]
    assert [(write["write_id"], write["state"], write["rows"]) for write in writing["writes"]] == [
        (write_id, "sealed", 20)
    ]
    [expected] = program.call("recover", "--dry-run", "-o", "json", cwd=tmp_path).data["tables"]
    assert (expected["table"], expected["published"], expected["removed"]) == (TABLE, [write_id], [])

    [done] = program.call("recover", TABLE, "-o", "json", cwd=tmp_path).data["tables"]
    assert done == {**expected, "kept": []}
    assert "nothing to recover" in program.call("recover", cwd=tmp_path).err
    assert program.call("query", COUNT, "-o", "json", cwd=tmp_path).data["rows"] == [[20, 20]]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["iceberg", "delta", *exhaustive("paimon")])
def test_a_lost_metastore_is_made_anew_from_the_tables(tmp_path: Path, form: str) -> None:
    other = f"  other: {{kind: {form}, location: ./other}}\n"
    projects.make(tmp_path, projects.SETTINGS.replace("engines:\n", f"{other}engines:\n"))
    job = projects.job("one", "SELECT trip_id FROM trips", to="other:raw/trips", form=form)
    (tmp_path / "one.yaml").write_text(projects.workflow("one", job))
    done = program.call("run", "one.yaml", "-o", "json", cwd=tmp_path)
    [output] = done.data["jobs"][0]["outputs"]
    table = "dataos://other:raw/trips"
    for file in (tmp_path / ".catchment").glob("metastore.db*"):
        file.unlink()
    rebuilt = program.call("recover", "--rebuild", "-o", "json", cwd=tmp_path)
    assert (rebuilt.code, rebuilt.data["learned"]) == (0, {table: [output["write_id"]]})
    with open_store(f"sqlite:///{tmp_path}/.catchment/metastore.db") as store:
        assert Filled(store).states(output["write_id"]) == ["committed"]
    again = program.call("recover", table, "--rebuild", "-o", "json", cwd=tmp_path)
    assert (again.code, again.data["learned"]) == (0, {})

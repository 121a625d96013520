"""Days on which something of the machine fails: the program says what it is, loses nothing, and can go on."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import update

from catchment.store import open_store
from catchment.store.schema import leases
from tests.cli import program, projects
from tests.disks import fill, mounting
from tests.matrices import EXHAUSTIVE
from tests.spark.hosts import Host

NAMELESS = ("setpriv", "--reuid=54321", "--regid=54321", "--clear-groups")
"""A user without a name, who may write nowhere. The tests run as root, who may write everywhere."""


def shell(line: str, cwd: Path) -> program.Answer:
    """Run a line of a shell in which $catchment is the program."""
    command = ["bash", "-o", "pipefail", "-c", line]
    done = subprocess.run(
        command, cwd=cwd, env=os.environ | {"catchment": program.PROGRAM}, capture_output=True, text=True, check=False
    )
    return program.Answer(done.returncode, done.stdout, done.stderr)


def bad_workflow(root: Path) -> Path:
    """A project with the file bad.yaml, which is not valid."""
    projects.make(root)
    (root / "bad.yaml").write_text(projects.workflow("bad", projects.job("one", "SELECT 1", after="nobody")))
    return root


@pytest.mark.parametrize("line", ["validate bad.yaml | head -c 1", "validate bad.yaml >&-", "validate bad.yaml 2>&-"])
def test_nobody_reads_along_and_the_exit_code_is_still_right(tmp_path: Path, line: str) -> None:
    answer = shell(f"$catchment {line}", bad_workflow(tmp_path))
    assert answer.code == 2
    assert answer.err == ""


@pytest.mark.slow
def test_a_closed_output_is_not_taken_for_the_next_file(tmp_path: Path) -> None:
    projects.make(tmp_path)
    (tmp_path / "w.yaml").write_text(projects.workflow("w", projects.job("one", "SELECT 1 AS a")))
    assert shell("$catchment plan w.yaml >&- <&- 2>&-", tmp_path).code == 0
    assert shell("exec >&-; $catchment runs; $catchment state set a b c start=1 --new --yes", tmp_path).code == 0
    assert program.call("state", "ls", "-o", "json", cwd=tmp_path).data["states"][0]["keys"] == {"start": "1"}


def test_a_full_output_is_an_error_and_a_full_log_is_none(tmp_path: Path) -> None:
    full = shell("$catchment schema > /dev/full", tmp_path)
    assert full.code == 1
    assert "error[output-failed]" in full.err
    assert "Exception ignored" not in full.err
    assert shell("$catchment validate missing.yaml 2> /dev/full", tmp_path).code == 2


def test_a_working_directory_that_is_gone(tmp_path: Path) -> None:
    gone = shell("mkdir here && cd here && rmdir ../here && $catchment runs", tmp_path)
    assert gone.code == 2
    assert "error[no-working-directory]" in gone.err


@pytest.fixture
def in_the_open() -> Iterator[Path]:
    """A directory that others may enter: those of pytest are closed to them."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.slow
def test_a_project_that_may_not_be_written(in_the_open: Path) -> None:
    root = projects.make(in_the_open / "lake")
    assert program.call("state", "set", "a", "b", "c", "start=1", "--new", "--yes", cwd=root).code == 0
    (root / "w.yaml").write_text(projects.workflow("w", projects.job("one", "SELECT 1 AS a")))
    for request, code in (
        (("runs",), "metastore-unreadable"),
        (("run", "w.yaml"), "no-permission"),
        (("state", "reset", "a", "b", "--yes"), "metastore-unreadable"),
        (("init", "shop"), "no-permission"),
    ):
        answer = program.call(*request, cwd=root, prefix=NAMELESS)
        assert (answer.code, f"error[{code}]" in answer.err) == (2, True), (request, answer.err)
    assert program.call("validate", "w.yaml", cwd=root, prefix=NAMELESS).code == 0


def test_a_directory_that_may_not_be_entered(tmp_path: Path) -> None:
    answer = program.call("runs", cwd=projects.make(tmp_path), prefix=NAMELESS)
    assert (answer.code, "error[no-permission]" in answer.err) == (2, True), answer.err


def test_a_user_without_a_name_has_a_number(in_the_open: Path) -> None:
    root = projects.make(in_the_open / "lake")
    root.chmod(0o777)
    diagnosis = program.call("doctor", "-o", "json", cwd=root, prefix=NAMELESS, HOME="/root")
    assert diagnosis.code == 1
    assert {check["status"] for check in diagnosis.data["checks"] if check["name"].startswith("engine")} == {"problem"}
    refused = program.call("query", "SELECT 1", cwd=root, prefix=NAMELESS)
    assert (refused.code, "error[no-user-name]" in refused.err) == (2, True), refused.err
    answer = program.call("state", "set", "a", "b", "c", "start=1", "--new", "--yes", cwd=root, prefix=NAMELESS)
    assert answer.code == 0, answer.err
    [state] = program.call("state", "ls", "-o", "json", cwd=root).data["states"]
    assert state["changed_by"].startswith("uid-54321@")


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_project_that_may_only_be_read_can_be_queried(tmp_path: Path, lent: Host) -> None:
    home = projects.make(tmp_path) / ".catchment"
    home.mkdir(mode=0o555)
    unprivileged = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
    answer = program.call("query", "SELECT 1", "-o", "json", cwd=tmp_path, prefix=unprivileged, java=lent)
    assert (answer.code, answer.data["rows"]) == (0, [[1]]), answer.err
    assert "the query is not recorded" in answer.err
    assert list(home.iterdir()) == []


SPECIAL = {"pipe": "not-a-file", "directory": "not-a-file", "loop": "file-unreadable", "/dev/zero": "not-a-file"}


@pytest.fixture
def special(tmp_path: Path) -> Path:
    """A project with a pipe, a directory and a link to itself."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "directory").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    return projects.make(tmp_path)


def test_special_files_in_the_place_of_text(special: Path) -> None:
    answer = program.call("validate", *SPECIAL, "-o", "json", cwd=special)
    found = {diagnostic["file"]: diagnostic["code"] for diagnostic in answer.data["diagnostics"]}
    assert (answer.code, found) == (2, SPECIAL)
    steps = [projects.job(f"j{number}", "SELECT 1") for number in range(3)]
    names = ("pipe", "directory", "loop")
    files = [
        step.replace("sql: |\n                  SELECT 1", f"sqlFile: {name}")
        for step, name in zip(steps, names, strict=True)
    ]
    (special / "w.yaml").write_text(projects.workflow("w", *files))
    answer = program.call("validate", "w.yaml", "-o", "json", cwd=special)
    assert [d["code"] for d in answer.data["diagnostics"] if d["severity"] == "error"] == [SPECIAL[n] for n in names]
    assert "error[not-a-file]" in program.call("query", "-f", "pipe", cwd=special).err


@pytest.mark.parametrize("name", ["pipe", "directory", "loop"])
def test_special_files_in_the_place_of_the_project_file(special: Path, name: str) -> None:
    file = special / "catchment.yaml"
    file.unlink()
    if name == "loop":
        file.symlink_to("catchment.yaml")
    else:
        (special / name).rename(file)
    answer = program.call("runs", cwd=special)
    assert (answer.code, f"error[{SPECIAL[name]}]" in answer.err) == (2, True), answer.err


LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
HOSTILE = {
    "too-many-values": LAUGHS,
    "too-deep": "a: " + "[" * 100_000,
    "duplicate-key": "name: a\nname: b\n",
    "yaml-tag": "name: !!python/object/apply:os.system [id]\n",
    "bad-name": f"name: {'x' * 1_900_000}\nversion: v1\ntype: workflow\nworkflow: {{dag: []}}\n",
    "unknown-key": f"name: a\nversion: v1\ntype: workflow\n{'k' * 100}: {{? {'x' * 100}}}\n",
    "yaml-character": "name: a\0b\n",
}


def test_hostile_yaml_is_refused_at_once_and_in_few_words(tmp_path: Path) -> None:
    for code, text in HOSTILE.items():
        (tmp_path / f"{code}.yaml").write_text(text)
    answer = program.call("validate", *(f"{code}.yaml" for code in HOSTILE), cwd=tmp_path)
    assert answer.code == 2
    for code in HOSTILE:
        assert f"error[{code}]" in answer.out, code
    assert "Traceback" not in answer.err
    assert max(map(len, answer.out.splitlines())) < 5000
    assert "…" in answer.out


COUNT = "SELECT count(*), count(DISTINCT trip_id) FROM lakehouse.raw.trips"
LARGE = "SELECT t.trip_id, n.id, uuid() AS text FROM trips t CROSS JOIN range(0, 6000, 1, 1) n"
"""About 5 MB."""


def two_jobs(root: Path) -> Path:
    """A workflow of a small write and a large one."""
    small = projects.job("small", "SELECT trip_id FROM trips")
    large = projects.job("large", LARGE, to="lakehouse:raw/large", after="small")
    (root / "two.yaml").write_text(projects.workflow("two", small, large))
    return root


def what_goes_on(root: Path) -> tuple[str, ...]:
    """The command that goes on with the run, or that begins one if there is none yet."""
    with open_store(f"sqlite:///{root}/.catchment/metastore.db") as store:
        with store.database.writing() as connection:  # a run that could not give its lease back holds it for seconds
            connection.execute(update(leases).values(owner=None, expires=0.0))
        runs = store.runs.newest(1)
    return ("resume", runs[0].id) if runs else ("run", "two.yaml")


@pytest.mark.parametrize(
    "leaving",
    # In the middle of a run, the metastore is tried again for a minute, by the engine and then by the run.
    [pytest.param(0, id="before-the-run"), pytest.param(3 * 2**20, id="during-the-run", marks=EXHAUSTIVE)],
)
@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_full_disk(tmp_path: Path, lent: Host, leaving: int) -> None:
    """The disk holds everything: the project, its metastore, its logs and its lake."""
    with mounting() as mount:
        root = two_jobs(projects.make(mount(tmp_path / "disk", "size=24m")))
        filled = fill(root, leaving=leaving)
        failed = program.call("run", "two.yaml", "-o", "json", cwd=root, java=lent)
        assert failed.code != 0
        assert "error[disk-full]" in failed.err
        assert str(root) in failed.err
        assert "Traceback" not in failed.err
        filled.unlink()
        assert program.call(*what_goes_on(root), cwd=root, java=lent).code == 0
        assert program.call("query", COUNT, "-o", "json", cwd=root, java=lent).data["rows"] == [[20, 20]]
        large = "SELECT count(*), count(DISTINCT trip_id, id) FROM lakehouse.raw.large"
        assert program.call("query", large, "-o", "json", cwd=root, java=lent).data["rows"] == [[120_000, 120_000]]


@pytest.mark.slow
def test_a_damaged_metastore(tmp_path: Path, lent: Host) -> None:
    """What the error says to type is typed here, as it stands there."""
    root = two_jobs(projects.make(tmp_path))
    done = program.call("run", "two.yaml", "-o", "json", cwd=root, java=lent)
    written = {output["dataset"]: [output["write_id"]] for job in done.data["jobs"] for output in job["outputs"]}
    metastore = root / ".catchment" / "metastore.db"
    metastore.write_bytes(b"spoilt" * 1000 + metastore.read_bytes()[6000:])
    refused = program.call("runs", cwd=root)
    assert refused.code == 2
    assert "error[metastore-damaged]" in refused.err
    for lost in ("sealed", "incremental", "runs"):
        assert lost in refused.err
    moving, rebuilding = re.findall(r"`([^`]+)`", refused.err)
    subprocess.run(["sh", "-c", moving], check=True)
    assert rebuilding == "catchment recover --rebuild"
    rebuilt = program.call(*rebuilding.split()[1:], "-o", "json", cwd=root, java=lent)
    assert (rebuilt.code, rebuilt.data["learned"]) == (0, written)
    assert program.call("run", "two.yaml", cwd=root, java=lent).code == 0

"""Resident engines as people use them: real processes, one Java for most of the file, real kills."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyarrow import parquet

import catchment
from tests.cli import projects
from tests.cli.program import PROGRAM, wait_until
from tests.cli.residents import Lake, made, up
from tests.cli.test_shell import PROMPT, TERMINAL, enter

COUNT = "SELECT count(*) AS trips FROM lakehouse.raw.trips"
PATIENCE = 200.0
"""Seconds; a Java starts slowly on a busy machine."""


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """A project whose engine is up."""
    with up(tmp_path_factory.mktemp("resident")) as found:
        yield found


def test_commands_use_the_engine_that_is_up(lake: Lake) -> None:
    before = lake.resident()
    run = lake.call("run", "w.yaml")
    assert run.code == 0, run.err
    assert "engine default: resident, ready" in run.err
    assert "starting Spark" not in run.err
    assert lake.value(COUNT) == 20
    after = lake.resident()
    assert (after["since"], after["jobs"], after["answered"]) == (before["since"], 1, before["answered"] + 2)
    assert after["heap_live"] > 0
    assert "one.1.log" in lake.call("logs", "-o", "json").out


def test_up_again_finds_it(lake: Lake) -> None:
    assert [each["since"] for each in lake.data("up")["residents"]] == [lake.resident()["since"]]


def test_what_a_command_does_to_its_session_is_gone_with_it(lake: Lake) -> None:
    assert lake.call("query", "CREATE TEMPORARY VIEW leftover AS SELECT 1").code == 0
    assert lake.call("query", "SELECT * FROM leftover").code == 2
    function = "CREATE TEMPORARY FUNCTION answer() RETURNS INT RETURN 42"
    assert lake.call("query", function).code == 0
    assert lake.call("query", "SELECT answer()").code == 2
    assert lake.call("query", "SET spark.sql.shuffle.partitions = 7").code == 0
    settings = lake.data("query", "SET spark.sql.shuffle.partitions")["rows"]
    assert settings[0][1] != "7"


def incremental(name: str) -> str:
    """A job that takes what is new in the table of `w.yaml`."""
    job = projects.job(name, "SELECT trip_id FROM trips", to=f"lakehouse:inc/{name}", source="lakehouse:raw/trips")
    return job.replace("format: json}", "format: iceberg, incremental: {by: snapshot}}")


@pytest.mark.slow
def test_resume_and_recover_use_it(lake: Lake) -> None:
    before = lake.resident()
    (lake.root / "broken.yaml").write_text(
        projects.workflow("broken", projects.job("one", "SELECT nothing FROM trips"))
    )
    failed = lake.call("run", "broken.yaml", "-o", "json")
    assert failed.code == 1, failed.err
    mended = projects.job("one", "SELECT trip_id FROM trips", to="lakehouse:raw/mended")
    (lake.root / "broken.yaml").write_text(projects.workflow("broken", mended))
    resumed = lake.call("resume", failed.data["run_id"])
    assert resumed.code == 0, resumed.err
    recovered = lake.call("recover", "--rebuild", "dataos://lakehouse:raw/mended")
    assert recovered.code == 0, recovered.err
    after = lake.resident()
    assert (after["since"], after["jobs"]) == (before["since"], before["jobs"] + 2)
    assert after["answered"] > before["answered"] + 2


@pytest.mark.slow
def test_the_runs_of_a_schedule_use_it(lake: Lake) -> None:
    before = lake.resident()
    flow = projects.workflow("ticking", projects.job("one", "SELECT trip_id FROM trips", to="lakehouse:raw/ticks"))
    schedule = "  schedule: {cron: '* * * * * *', timezone: UTC}\n  dag:"
    (lake.root / "ticking.yaml").write_text(flow.replace("  dag:", schedule))
    with lake.begun("schedule", "ticking.yaml", "-o", "json") as running:
        wait_until(lambda: lake.resident()["jobs"] > before["jobs"], "a tick has run in the engine")
        running.terminate()
        running.wait(PATIENCE)
    assert lake.resident()["since"] == before["since"]
    assert {each["status"] for each in lake.data("ticks", "ticking")["ticks"]} & {"succeeded", "cancelled"}


@pytest.mark.slow
def test_a_run_that_is_repeated_has_the_variables_of_the_first(lake: Lake) -> None:
    job = projects.job("one", "SELECT '${WHAT}' AS what", to="lakehouse:raw/whats")
    (lake.root / "whats.yaml").write_text(f"vars: {{WHAT: nothing}}\n{projects.workflow('whats', job)}")
    first = lake.data("run", "whats.yaml", "--var", "WHAT=first")["run_id"]
    lake.data("run", "whats.yaml", "--var", "WHAT=second")
    lake.data("run", "--from-run", first)
    lake.data("run", "--from-run", first, "--var", "WHAT=third")
    sql = "SELECT what, count(*) FROM lakehouse.raw.whats GROUP BY what ORDER BY what"
    assert lake.data("query", sql)["rows"] == [["first", 2], ["second", 1], ["third", 1]]


@pytest.mark.slow
def test_of_incremental_jobs_only_those_that_run_move_on(lake: Lake) -> None:
    lake.data("run", "w.yaml")
    (lake.root / "inc.yaml").write_text(projects.workflow("inc", incremental("a"), incremental("b")))
    there = lake.value(COUNT)
    lake.data("run", "inc.yaml", "--select", "a")
    assert {each["job"] for each in lake.data("state", "ls", "inc")["states"]} == {"a"}
    lake.data("run", "w.yaml")
    rows = {job["name"]: job["outputs"][0]["rows"] for job in lake.data("run", "inc.yaml")["jobs"]}
    assert rows == {"a": 20, "b": there + 20}
    assert lake.value("SELECT count(*) FROM lakehouse.inc.a") == lake.value("SELECT count(*) FROM lakehouse.inc.b")


@pytest.mark.slow
def test_columns_that_would_change_are_told_before_a_run(lake: Lake) -> None:
    def write(sql: str) -> None:
        (lake.root / "columns.yaml").write_text(projects.workflow("columns", projects.job("one", sql, to=to)))

    to, before = "lakehouse:raw/columns", lake.resident()
    write("SELECT trip_id FROM trips")
    lake.data("run", "columns.yaml")
    assert lake.data("diff", "columns.yaml", "--schema")["jobs"] == []
    write("SELECT trip_id, fare FROM trips")
    found = lake.data("diff", "columns.yaml", "--schema")
    assert [each["change"] for each in found["jobs"]] == ["changed"]
    (output,) = found["schema"]
    assert [each["name"] for each in output["columns"]] == ["trip_id", "fare"]
    assert [each["name"] for each in output["table_columns"]] == ["trip_id"]
    assert len(output["changes"]) == 1
    assert "fare" in output["changes"][0]
    assert lake.resident()["answered"] == before["answered"] + 3


@pytest.mark.slow
def test_what_other_programs_write_is_seen_by_the_next_command(lake: Lake) -> None:
    rows, places = pa.table({"id": [1, 2]}), (lake.root / "events" / "raw" / "moved", lake.root / "dropzone" / "moved")
    counts = "SELECT count(*) FROM events.raw.moved", f"SELECT count(*) FROM parquet.`{places[1]}`"
    before = lake.resident()
    for number in (1, 2, 3):
        for place in places:
            place.mkdir(parents=True, exist_ok=True)
        write_deltalake(places[0], rows, mode="append")
        parquet.write_table(rows, places[1] / f"{number}.parquet")
        assert [lake.value(count) for count in counts] == [2 * number, 2 * number]
    assert lake.resident()["answered"] == before["answered"] + 6


@pytest.mark.slow
def test_what_a_command_caches_is_not_seen_by_the_next(lake: Lake) -> None:
    assert lake.call("run", "w.yaml").code == 0
    assert lake.call("query", "CACHE TABLE lakehouse.raw.trips").code == 0
    cached = lake.call("run", "caching.yaml")
    assert cached.code == 0, cached.err
    rows = lake.value(COUNT)
    elsewhere = lake.call("run", "w.yaml", prefix=("env", "HADOOP_USER_NAME=somebody"))
    assert "does not fit: other environment variables (HADOOP_USER_NAME)" in elsewhere.err
    assert elsewhere.code == 0, elsewhere.err
    assert lake.value(COUNT) == rows + 20


def test_a_client_that_is_killed_takes_its_work_along_and_not_the_engine(lake: Lake) -> None:
    before = lake.resident()
    with lake.begun("run", "slow.yaml") as running:
        wait_until(lambda: any(each["running"] for each in lake.resident()["clients"]), "the job is in the engine")
        running.kill()
    wait_until(lambda: lake.resident()["answered"] > before["answered"], "the job is cancelled")
    assert lake.is_idle()
    assert lake.resident()["since"] == before["since"]
    assert lake.value("SELECT 1") == 1


@pytest.mark.slow
def test_a_definition_that_has_changed_gets_an_engine_of_its_own(lake: Lake) -> None:
    settings = lake.root / "catchment.yaml"
    text = settings.read_text()
    settings.write_text(text.replace("spark.driver.memory: 1g", "spark.driver.memory: 900m"))
    try:
        answer = lake.call("query", "SELECT 1 AS one", "-o", "json")
    finally:
        settings.write_text(text)
    assert answer.data["rows"] == [[1]]
    assert "the resident engine does not fit: another definition of the engine; other Spark settings" in answer.err


@pytest.mark.slow
def test_never_uses_none(lake: Lake) -> None:
    settings = lake.root / "catchment.yaml"
    text, answered = settings.read_text(), lake.resident()["answered"]
    settings.write_text(text + "resident: never\n")
    try:
        assert lake.value("SELECT 2") == 2
    finally:
        settings.write_text(text)
    assert lake.resident()["answered"] == answered


def test_python_uses_it_and_leaves_it(lake: Lake) -> None:
    project, before = catchment.open(lake.root), lake.resident()
    with project.engine():
        assert [f"(process {os.getpid()})" in each["who"] for each in lake.resident()["clients"]] == [True]
        # Relative paths begin at the root of the project, wherever a program is started.
        assert project.query("SELECT count(*) FROM json.`dropzone/trips.json`").rows == ((20,),)
    wait_until(lake.is_idle, "nobody is in")
    after = lake.resident()
    assert (after["since"], after["answered"]) == (before["since"], before["answered"] + 1)


@pytest.mark.slow
def test_bad_requests(lake: Lake) -> None:
    unknown = lake.call("up", "nobody")
    assert unknown.code == 2
    assert "error[unknown-engine]" in unknown.err
    assert "error[unknown-engine]" in lake.call("down", "nobody").err
    settings = lake.root / "catchment.yaml"
    text = settings.read_text()
    settings.write_text(text.replace("default: {", "default: {isolation: process, "))
    try:
        refused = lake.call("up")
    finally:
        settings.write_text(text)
    assert refused.code == 2
    assert "error[engine-not-shared]" in refused.err
    settings.write_text(text + "resident: never\n")
    try:
        assert "error[residents-not-used]" in lake.call("up").err
    finally:
        settings.write_text(text)


def test_a_shell_stays_in_it(lake: Lake) -> None:
    """What is typed while a statement runs is answered after it."""
    before = lake.resident()
    shell = pexpect.spawn(
        PROGRAM,
        ["shell"],
        cwd=str(lake.root),
        env=os.environ | TERMINAL,
        encoding="utf-8",
        timeout=PATIENCE,
        dimensions=(50, 200),
    )
    shell.expect_exact(PROMPT)
    enter(shell, "SELECT 6 * 7 AS answer;")
    shell.expect(r"\s42\s")
    shell.expect_exact(PROMPT)
    shell.send("SELECT 1000 + 1 AS one;\rSELECT 1000 + 2 AS two;\r")
    shell.expect(r"\s1001\s")
    shell.expect(r"\s1002\s")
    shell.expect_exact(PROMPT)
    shell.sendeof()
    shell.expect(pexpect.EOF)
    shell.close()
    assert shell.exitstatus == 0
    after = lake.resident()
    assert (after["since"], after["answered"]) == (before["since"], before["answered"] + 3)


@pytest.mark.slow
def test_on_a_terminal_engines_stay_and_one_that_is_killed_is_replaced(tmp_path: Path) -> None:
    lake = made(tmp_path)
    try:
        _stay_and_are_replaced(lake)
    finally:
        lake.call("down")


def _stay_and_are_replaced(lake: Lake) -> None:
    settings = lake.root / "catchment.yaml"
    settings.write_text(settings.read_text() + '  other: {master: "local[1]"}\n')
    for engine in ("default", "other"):
        told = _on_a_terminal(lake, engine)
        assert "it stays for 10 idle minutes; `catchment down` ends it" in told
    assert "stays" not in _on_a_terminal(lake, "other")
    first = {each["engine"]: each for each in lake.residents}
    assert {each["idle_seconds"] for each in first.values()} == {600.0}
    os.killpg(lake.worker("engine-other"), signal.SIGKILL)
    told = _on_a_terminal(lake, "other")
    assert "the resident engine was killed; its log is " in told
    assert "it stays" in told
    second = {each["engine"]: each for each in lake.residents}
    assert second["default"]["since"] == first["default"]["since"]
    assert second["other"]["since"] > first["other"]["since"]
    assert sorted(lake.data("up", "default")["residents"][0]) == sorted(second["default"])
    assert next(each for each in lake.residents if each["engine"] == "default")["idle_seconds"] is None
    assert len(lake.data("down")["ended"]) == 2
    assert lake.residents == []
    assert "no resident engine is running" in lake.call("down").err
    with catchment.open(lake.root).engine():
        assert [each["idle_seconds"] for each in lake.residents] == [600.0]
    assert lake.residents == []


def _on_a_terminal(lake: Lake, engine: str) -> str:
    env = {key: value for key, value in os.environ.items() if key != "CI"}
    arguments = ["query", "SELECT 6 * 7 AS answer", "--engine", engine]
    command = pexpect.spawn(
        PROGRAM, arguments, cwd=str(lake.root), env=env, encoding="utf-8", timeout=PATIENCE, dimensions=(40, 200)
    )
    command.expect(pexpect.EOF)
    command.close()
    assert command.exitstatus == 0, command.before
    assert "42" in command.before
    return str(command.before)

"""Several clients of one resident engine, of which some are interrupted or killed."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cli import projects
from tests.cli.program import wait_until
from tests.cli.residents import Lake, children, up
from tests.cli.test_lifetimes import NEVER_ENDS
from tests.cli.test_shell import has_readers

PATIENCE = 200.0
"""Seconds; a Java starts slowly on a busy machine."""


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """A project whose engine is up."""
    with up(tmp_path_factory.mktemp("resident")) as found:
        yield found


@pytest.mark.slow
def test_a_program_that_is_killed_keeps_no_engine(lake: Lake) -> None:
    keeping = f"import catchment\nwith catchment.open('{lake.root}').engine(): print('kept', flush=True); input()"
    command = [sys.executable, "-c", keeping]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdout
        assert program.stdout.readline() == b"kept\n"
        assert not lake.is_idle()
        program.kill()
    wait_until(lake.is_idle, "nobody keeps it any more")


@pytest.mark.slow
def test_ctrl_c_of_one_client_ends_its_work_and_that_of_no_other(lake: Lake, tmp_path: Path) -> None:
    before, gate = lake.resident(), tmp_path / "gate"
    waiting = f"while [ ! -e {gate} ]; do sleep 0.05; done; cat"
    rows = f"SELECT TRANSFORM(id) USING '{waiting}' AS (id BIGINT) FROM range(0, 20, 1, 1)"  # on one core of two
    query = "query", f"SELECT count(*), sum(id) FROM ({rows})", "--write", "--yes", "-o", "json"
    with lake.begun(*query) as other, lake.begun("run", "slow.yaml") as interrupted:
        try:
            wait_until(lambda: _at_work(lake) == 2, "both are at work")
            interrupted.send_signal(signal.SIGINT)
            assert interrupted.wait(PATIENCE) == 130
            wait_until(lambda: lake.resident()["answered"] == before["answered"] + 1, "its work has ended")
            assert (_at_work(lake), lake.resident()["abandoned"], other.poll()) == (1, 0, None)
        finally:
            gate.touch()
        out, err = other.communicate(timeout=PATIENCE)
    assert other.returncode == 0, err.decode()
    assert json.loads(out)["rows"] == [[20, 190]]
    assert lake.resident()["since"] == before["since"]


@pytest.mark.slow
def test_what_a_job_caches_of_a_table_is_not_read_by_others(lake: Lake, tmp_path: Path) -> None:
    """Of other formats, `tests/spark/test_caches.py` tests the same."""
    begun, gate = tmp_path / "begun", tmp_path / "gate"
    waiting = f"touch {begun}; while [ ! -e {gate} ]; do sleep 0.05; done; cat"
    sql = f"SELECT TRANSFORM(trip_id) USING '{waiting}' AS (trip_id BIGINT) FROM trips"
    job = projects.job("one", sql, to="lakehouse:raw/waited")
    job = job.replace("        inputs:", "        sideEffects: true\n        inputs:")
    steps = "- {name: cached, sql: CACHE TABLE lakehouse.raw.trips}\n              - name: result\n                sql"
    job = job.replace("- name: result\n                sql", steps)
    (lake.root / "waiting.yaml").write_text(projects.workflow("waiting", job))
    count = "SELECT count(*) FROM lakehouse.raw.trips"
    assert lake.call("run", "w.yaml").code == 0
    before = lake.value(count)
    with lake.begun("run", "waiting.yaml") as caching:
        try:
            wait_until(begun.exists, "the table is cached")
            assert lake.call("run", "w.yaml").code == 0
            assert (lake.value(count), caching.poll()) == (before + 20, None)
        finally:
            gate.touch()
        assert caching.wait(PATIENCE) == 0


def _at_work(lake: Lake) -> int:
    return sum(each["running"] for each in lake.resident()["clients"])


@pytest.mark.slow
@pytest.mark.parametrize("count", [40, pytest.param(200, marks=pytest.mark.exhaustive)])
def test_many_clients_at_once_killed_at_random(lake: Lake, count: int) -> None:
    """Right answers for those who live, whole rows of those who are killed or none, and nothing left behind."""
    before, dice = lake.resident(), random.Random(count)
    first = f"{count}-first"
    lake.data(*_signed(first))
    commands = [
        (f"{count}-{number}", dice.choice(COMMANDS), dice.uniform(0, KILL_SECONDS) if dice.random() < 0.5 else None)
        for number in range(count)
    ]
    with ThreadPoolExecutor(8) as clients:
        acknowledged = list(clients.map(lambda command: _one(lake, *command), commands))
    wait_until(lake.is_idle, "everybody has gone")
    wait_until(lambda: lake.resident()["abandoned"] == 0, "the work of those who were killed has ended")
    assert lake.resident()["since"] == before["since"]
    written = {name for (name, what, _), done in zip(commands, acknowledged, strict=True) if done and what == "write"}
    tried = {name for name, what, _ in commands if what == "write"}
    _check_rows(lake, count, written | {first}, tried | {first})
    _check_nothing_is_left(lake)


COMMANDS = "query", "query", "write", "write", "table", "slow run", "slow query"
KILL_SECONDS = 5.0
"""About what a command takes when eight are at work: some are killed before they begin, and some after their commit."""


def _one(lake: Lake, name: str, what: str, kill_after: float | None) -> bool:
    """One command of a client, which may be killed; returns whether it has succeeded."""
    number = int(name.rpartition("-")[2])
    if what.startswith("slow"):  # nobody waits for its end
        kill_after = kill_after or KILL_SECONDS
    arguments = {
        "query": ("query", f"SELECT {number} * 2 AS twice", "-o", "json"),
        "write": _signed(name),
        "table": ("table", "show", "dataos://lakehouse:raw/signed"),
        "slow run": ("run", "slow.yaml"),
        "slow query": ("query", NEVER_ENDS),
    }[what]
    with lake.begun(*arguments) as running:
        try:
            out, err = running.communicate(timeout=kill_after or PATIENCE)
        except subprocess.TimeoutExpired:
            assert kill_after is not None, f"{arguments} does not end"
            return False  # it is killed now
    assert running.returncode == 0, err.decode()
    if what == "query":
        assert json.loads(out)["rows"] == [[number * 2]]
    return True


def _signed(name: str) -> tuple[str, ...]:
    """A run whose rows can be told from those of others."""
    return "run", "signed.yaml", "--var", f"CLIENT={name}"


def _check_rows(lake: Lake, count: int, written: set[str], tried: set[str]) -> None:
    """Every run has written all of its rows once, or was killed and has written none."""
    assert lake.call("recover").code == 0  # publishes what was sealed by those who were killed after that
    sql = f"""SELECT client, count(*), count(DISTINCT trip_id) FROM lakehouse.raw.signed
              WHERE client LIKE '{count}-%' GROUP BY client"""
    rows = lake.data("query", sql)["rows"]
    assert {tuple(counts) for _, *counts in rows} == {(20, 20)}
    assert written <= {client for client, *_ in rows} <= tried


def _check_nothing_is_left(lake: Lake) -> None:
    """No run, write or process of those who were killed looks alive."""
    server = lake.preloaded("engine-default")
    wait_until(lambda: not children(server), "no command is left in the process that runs commands")
    assert "running" not in {run["status"] for run in lake.data("runs", "--limit", "10000")["runs"]}
    writes = [write for table in lake.data("writers")["tables"] for write in table["writes"]]
    assert [write for write in writes if write["alive"]] == []
    assert not has_readers(lake.root)

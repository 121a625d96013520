"""Engines as processes: killed, cancelled, orphaned, watched from outside."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from catchment.engine.protocol import Failed, Preparing
from catchment.errors import EngineLost
from tests.concurrency.waiting import until, worker_of
from tests.spark.lake import LiveEngine, lake_depot, table, writing

Start = Callable[..., LiveEngine]
SLOW = "SELECT id, java_method('java.lang.Thread', 'sleep', 200L) AS slept FROM range(0, 1000, 1, 100)"


def family(pid: int) -> dict[int, str]:
    """Command lines of a process and everything below it."""
    lines = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    table = {int(p): (int(parent), args) for p, parent, args in (line.split(maxsplit=2) for line in lines.splitlines())}
    found, wanted = {}, [pid]
    while wanted:
        current = wanted.pop()
        found[current] = table[current][1]
        wanted += [child for child, (parent, _) in table.items() if parent == current]
    return found


def await_end(pids: Iterable[int]) -> None:
    """Wait until none of these processes is there any more."""
    until(lambda: not any(_alive(pid) for pid in pids))


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def failed_start(engine: LiveEngine) -> Failed:
    reply = engine.general.get(timeout=120)
    while isinstance(reply, Preparing):
        reply = engine.general.get(timeout=120)
    assert isinstance(reply, Failed), reply
    assert reply.attempt is None
    return reply


@pytest.mark.slow
def test_secrets_killed_java_and_cleanliness(start_java: Start, tmp_path: Path) -> None:
    """One engine, three stories: what `ps` shows, what logs show, and what is left after a kill."""
    secret = "s3cr3t-w0rd"
    plain = lake_depot(tmp_path)
    assert plain.catalog
    depot = replace(plain, catalog=replace(plain.catalog, properties={"token": secret}))
    engine = start_java(depot, secrets=(secret,), conf={"spark.hadoop.fs.s3a.secret.key": secret})
    engine.ready()
    processes = family(worker_of(engine))
    assert any("java" in line for line in processes.values())
    assert not any(secret in line for line in processes.values())

    failed = engine.fail(writing(f"SELECT '{secret}' AS x, nothing", table("t"), name="leaky"))
    assert secret not in str(failed)
    engine.run(replace(writing(f"SELECT '{secret}' AS x", table("t"), name="shown"), explain=True, preview_rows=1))
    assert "***" in engine.log("shown")
    for log in engine.log_dir.iterdir():
        assert secret not in log.read_text()

    pending = engine.start_job(writing(SLOW, table("slow")))
    pending.wait_for("progress")
    java = next(pid for pid, line in processes.items() if "/bin/java" in line)
    os.kill(java, signal.SIGKILL)
    lost = pending.answer()
    assert isinstance(lost, EngineLost)
    assert "Java" in lost.message
    await_end(processes)


def test_a_killed_worker_takes_its_java_along(start_java: Start, tmp_path: Path) -> None:
    engine = start_java(lake_depot(tmp_path))
    engine.ready()
    pending = engine.start_job(writing(SLOW, table("slow")))
    pending.wait_for("writing")
    processes = family(worker_of(engine))
    os.kill(worker_of(engine), signal.SIGKILL)
    lost = pending.answer()
    assert isinstance(lost, EngineLost)
    assert "SIGKILL" in lost.message
    await_end(processes)


@pytest.mark.slow
def test_an_engine_ends_with_its_launcher(tmp_path: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path; from tests.spark.lake import *\n"
        f"engine = LiveEngine(engine_plan(lake_depot(Path({str(tmp_path)!r}))), Path({str(tmp_path / 'logs')!r}))\n"
        "engine.ready(); print(engine.process._process.pid, flush=True); time.sleep(600)"
    )
    launcher = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert launcher.stdout
    with launcher.stdout:
        processes = family(int(launcher.stdout.readline()))
    launcher.kill()
    launcher.wait()
    assert len(processes) >= 2
    await_end(processes)


@pytest.mark.slow
def test_a_cancelled_job_ends_and_its_neighbour_does_not(engine: LiveEngine, fresh: str) -> None:
    cancelled = engine.start_job(writing(SLOW, table(f"{fresh}_a"), name="cancelled"))
    told = cancelled.wait_for("progress").data
    while not told["rows"]:  # until a task has written its rows
        told = cancelled.wait_for("progress").data
    assert 0 < told["done"] < told["total"] == 100
    assert (told["rows"] % 10, told["bytes"] > 0, told["stages_total"]) == (0, True, len(told["stages"]))
    neighbour = engine.start_job(writing("SELECT id FROM range(5)", table(f"{fresh}_b"), name="neighbour"))
    engine.cancel(cancelled)
    began = time.monotonic()
    failed = cancelled.failed()
    assert time.monotonic() - began < 60  # by itself it would take longer
    assert (failed.code, failed.retryable) == ("cancelled", False)
    assert neighbour.done()[0].rows == 5
    assert engine.refused_query(f"SELECT * FROM lake.raw.{fresh}_a").code == "table-or-view-not-found"


def test_a_job_cancelled_before_it_begins_writes_nothing(engine: LiveEngine, fresh: str) -> None:
    pending = engine.start_job(writing("SELECT 1 AS id", table(fresh)))
    engine.cancel(pending)
    assert pending.failed().code == "cancelled"


def test_a_port_in_use(start_java: Start) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        conf = {"spark.driver.port": str(taken.getsockname()[1]), "spark.port.maxRetries": "0"}
        failed = failed_start(start_java(conf=conf))
    assert (failed.code, failed.setup) == ("port-in-use", True)


def test_an_unreachable_master(start_java: Start) -> None:
    began = time.monotonic()
    failed = failed_start(start_java(master="spark://127.0.0.1:1"))
    assert (failed.code, failed.setup) == ("master-unreachable", True)
    assert time.monotonic() - began < 60


def test_a_secret_that_java_would_show(start_java: Start) -> None:
    conf = {"spark.driver.extraJavaOptions": "-Dpassword=hunter22"}
    assert failed_start(start_java(conf=conf, secrets=("hunter22",))).code == "secret-on-command-line"


def test_java_that_does_not_start(start_java: Start) -> None:
    failed = failed_start(start_java(conf={"spark.driver.memory": "much"}))
    assert failed.code == "engine-not-started"

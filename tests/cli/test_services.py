"""Services as people use them: real processes and real kills. A scheduler whose tick is far away needs no Java."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from catchment.store import open_store
from tests.cli import program, projects
from tests.cli.program import PROGRAM, wait_until
from tests.cli.test_lifetimes import NEVER_ENDS
from tests.spark.hosts import Host

FIELDS = {
    *("name", "kind", "status", "command", "directory", "host", "pid", "started", "finished", "exit_code", "error"),
    *("restart", "restarts", "log"),
}
ENDLESS = """\
name: endless
version: v1
type: workflow
workflow:
  dag:
    - name: arrivals
      spec:
        stack: flare:7.0
        stackSpec:
          job:
            inputs:
              - name: arriving
                dataset: dataos://dropzone:none/arriving?acl=r
                format: json
                isStream: true
                schemaType: spark
                schemaString: "id BIGINT"
            outputs:
              - {name: arriving, dataset: "dataos://lakehouse:raw/arrived?acl=rw", options: {saveMode: append}}
            streaming: {outputMode: append}
"""
YEARLY = "  schedule: {cron: '0 0 1 1 *', timezone: UTC}\n  dag:"
PATIENCE = 200.0
"""Seconds; a Java starts slowly on a busy machine."""
WAITING = "next tick"
"""What a scheduler prints when it follows its files."""


@dataclass(frozen=True)
class Shop:
    """A project with a schedule that has nothing to do for months."""

    root: Path
    env: dict[str, Any] = field(default_factory=dict)

    def call(self, *arguments: str) -> program.Answer:
        return program.call(*arguments, cwd=self.root, **self.env)

    def data(self, *arguments: str) -> Any:
        answer = self.call(*arguments, "-o", "json")
        assert answer.code == 0, answer.err
        return answer.data

    def detach(self, *options: str) -> dict[str, Any]:
        """Start a scheduler as a service and wait until it follows its file."""
        found: dict[str, Any] = self.data("schedule", "yearly.yaml", "--detach", *options)
        self.await_log(found["name"], WAITING)
        return found

    def show(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.data("services", "show", name)
        return found

    def log(self, name: str) -> str:
        return (self.root / ".catchment" / "services" / name / "service.log").read_text()

    def await_log(self, name: str, text: str, times: int = 1) -> None:
        wait_until(lambda: self.log(name).count(text) >= times, f"{name} says {text}", PATIENCE)

    def child(self, name: str) -> int:
        """The newest process of the command."""
        return int(re.findall(r"\(process (\d+)\)", self.log(name))[-1])

    def await_end(self, name: str) -> dict[str, Any]:
        wait_until(
            lambda: self.show(name)["status"] not in ("running", "stopping", "restarting"), f"{name} ends", PATIENCE
        )
        return self.show(name)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    made = Shop(projects.make(tmp_path))
    projects.shadow(tmp_path)
    text = projects.workflow("yearly", projects.job("one", "SELECT trip_id FROM trips"))
    (tmp_path / "yearly.yaml").write_text(text.replace("  dag:", YEARLY))
    yield made
    for service in made.data("services", "ls")["services"]:
        if service["status"] in ("running", "restarting", "stopping"):
            kill(service["pid"])
            child = made.child(service["name"])
            wait_until(partial(is_gone, child), "the command ends by itself")


@pytest.fixture
def with_java(shop: Shop, lent: Host) -> Shop:
    """The same, and its services have engines that start in a second."""
    return Shop(shop.root, program.lending(lent))


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def is_gone(pid: int) -> bool:
    """Whether a process has ended, also if nobody has asked about it yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.slow
def test_a_service_outlives_the_terminal_that_started_it(shop: Shop) -> None:
    typed = f"echo shell $$; {PROGRAM} schedule yearly.yaml --detach; echo typed; sleep 600"
    window = [sys.executable, "-c", f"import pty; pty.spawn(['sh', '-c', {typed!r}])"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(window, cwd=shop.root, text=True, **pipes) as terminal:  # type: ignore[call-overload]
        told: list[str] = []
        while "typed" not in (told or [""])[-1]:
            told.append(terminal.stdout.readline())
        terminal.kill()
    shell = next(int(line.split()[1]) for line in told if line.startswith("shell "))
    wait_until(lambda: is_gone(shell), "the shell has ended with its terminal")
    assert any(line.strip() == "schedule-yearly" for line in told)
    assert shop.show("schedule-yearly")["status"] == "running"
    shop.await_log("schedule-yearly", WAITING)


@pytest.mark.slow
def test_a_supervisor_that_is_killed_is_dead_and_takes_its_command_along(shop: Shop) -> None:
    service = shop.detach()
    assert set(service) == FIELDS
    assert (service["name"], service["kind"], service["status"]) == ("schedule-yearly", "schedule", "running")
    assert service["command"] == ["schedule", "yearly.yaml", "-o", "json"]
    child = shop.child("schedule-yearly")
    kill(service["pid"])
    wait_until(lambda: is_gone(child), "the command has ended too")
    dead = shop.show("schedule-yearly")
    assert (dead["status"], dead["exit_code"]) == ("dead", None)
    assert shop.call("services", "stop", "schedule-yearly").code == 2
    again = shop.data("services", "restart", "schedule-yearly")
    assert (again["status"], again["command"]) == ("running", service["command"])
    assert again["pid"] != service["pid"]


@pytest.mark.slow
def test_a_service_stops_cleanly_and_its_name_is_free_again(shop: Shop) -> None:
    service = shop.detach("--name", "night-watch")
    assert shop.call("services", "ls").out.splitlines()[-1].split()[:3] == ["night-watch", "schedule", "running"]
    taken = shop.call("schedule", "yearly.yaml", "--detach", "--name", "night-watch")
    assert (taken.code, taken.out, "error[service-name-in-use]" in taken.err) == (2, "", True)
    child = shop.child("night-watch")
    stopped = shop.data("services", "stop", "night-watch")
    assert (stopped["status"], stopped["exit_code"], stopped["error"]) == ("stopped", 0, None)
    assert stopped["finished"] > stopped["started"]
    assert (is_gone(child), is_gone(service["pid"])) == (True, True)
    again = shop.call("services", "stop", "night-watch")
    assert (again.code, "error[service-not-running]" in again.err) == (2, True)
    followed = shop.call("services", "logs", "night-watch", "-f")  # leaves by itself: the service has ended
    assert (followed.code, "stopped with exit code 0" in followed.out, WAITING in followed.out) == (0, True, True)
    quiet = shop.call("schedule", "yearly.yaml", "--detach", "--name", "night-watch", "--quiet")
    assert (quiet.code, quiet.out, quiet.err) == (0, "night-watch\n", "")


@pytest.mark.slow
def test_a_signal_to_the_supervisor_and_a_request_in_the_metastore_are_a_clean_end(shop: Shop) -> None:
    service = shop.detach()
    os.kill(service["pid"], signal.SIGHUP)
    os.kill(service["pid"], signal.SIGTERM)
    ended = shop.await_end(service["name"])
    assert (ended["status"], ended["exit_code"]) == ("stopped", 0)
    shop.data("services", "restart", service["name"])
    with open_store(f"sqlite:///{shop.root}/.catchment/metastore.db") as store:
        found = store.services.find(service["name"])
        assert found
        store.services.request_stop(found)  # as another machine does, which cannot send a signal
    ended = shop.await_end(service["name"])
    assert (ended["status"], ended["exit_code"] in (0, 143)) == ("stopped", True)  # 143 if it had hardly begun


@pytest.mark.slow
def test_a_signal_to_every_process_of_a_service_at_once_is_a_clean_end(shop: Shop) -> None:
    """As a machine sends it that shuts down. What is sealed is published, by an engine that is not killed."""
    shop, mark = Shop(shop.root, {program.MARK: shop.root.name}), shop.root.name
    (shop.root / "catchment.yaml").write_text(f"{projects.SETTINGS}settings: {{linger: 1h}}\n")
    slow = (
        "SELECT max(id) AS trip_id FROM range(0, 1000000000000000, 1, 1)"  # of one task: a core is left for the other
    )
    jobs = projects.job("fast", "SELECT trip_id FROM trips"), projects.job("slow", slow)
    (shop.root / "both.yaml").write_text(projects.workflow("both", *jobs))
    service = shop.data("run", "both.yaml", "--detach")
    wait_until(lambda: "sealed" in states(shop), "a write is sealed", PATIENCE)
    everybody = program.family(mark)
    assert any("java" in command for command in everybody.values())
    for pid in everybody:
        os.kill(pid, signal.SIGTERM)
    ended = shop.await_end(service["name"])
    assert (ended["status"], ended["exit_code"]) == ("stopped", 130)
    assert program.family(mark) == {}
    (run,) = shop.data("runs")["runs"]
    jobs_of_run = {job["name"]: job["status"] for job in shop.data("runs", run["run_id"])["jobs"]}
    assert (run["status"], jobs_of_run) == ("cancelled", {"fast": "succeeded", "slow": "cancelled"})
    assert shop.data("table", "show", "dataos://lakehouse:raw/trips")["rows"] == 20


def states(shop: Shop) -> set[str]:
    """The states of the unfinished writes of every table."""
    return {write["state"] for table in shop.data("writers")["tables"] for write in table["writes"]}


@pytest.mark.slow
def test_a_command_that_dies_is_started_again_if_asked_for(shop: Shop) -> None:
    service = shop.detach("--restart", "on-failure")
    first = shop.child(service["name"])
    kill(first)
    shop.await_log(service["name"], WAITING, times=2)
    again = shop.show(service["name"])
    assert (again["status"], again["restarts"], again["exit_code"]) == ("running", 1, 137)
    assert (again["error"], again["pid"]) == ("the command was killed by SIGKILL", service["pid"])
    assert shop.child(service["name"]) != first
    other = shop.detach()  # without a policy, and with a name of its own
    assert other["name"] == "schedule-yearly-2"
    kill(shop.child(other["name"]))
    assert (shop.await_end(other["name"])["status"], shop.show(other["name"])["restarts"]) == ("failed", 0)


@pytest.mark.slow
def test_a_service_can_be_restarted_while_it_runs(shop: Shop) -> None:
    service = shop.detach()
    again = shop.call("services", "restart", service["name"])
    assert (again.code, again.out) == (0, "service schedule-yearly: running\n")
    assert shop.show(service["name"])["pid"] != service["pid"]
    assert "stopped with exit code 0" in shop.log(service["name"])


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_run_that_is_stopped_goes_on_with_the_same_run_when_it_is_restarted(shop: Shop) -> None:
    fast = projects.job("fast", "SELECT trip_id FROM trips")
    text = projects.workflow("both", fast, projects.job("slow", NEVER_ENDS, after="fast"))
    (shop.root / "both.yaml").write_text(text)
    started = shop.call("run", "both.yaml", "--detach")
    assert (started.code, started.out) == (0, "run-both\n")
    shop.await_log("run-both", "slow: started")
    (run,) = shop.data("runs")["runs"]
    assert (run["status"], shop.show("run-both")["command"][-2:]) == ("running", ["--run-id", run["run_id"]])
    stopped = shop.data("services", "stop", "run-both")
    assert (stopped["status"], stopped["exit_code"]) == ("stopped", 130)
    assert shop.data("runs", run["run_id"])["status"] == "cancelled"
    (shop.root / "both.yaml").write_text(text.replace(NEVER_ENDS, "SELECT 100 + trip_id AS trip_id FROM trips"))
    assert shop.data("services", "restart", "run-both")["status"] == "running"
    assert shop.await_end("run-both")["status"] == "succeeded"
    (again,) = shop.data("runs")["runs"]
    assert (again["run_id"], again["status"]) == (run["run_id"], "succeeded")
    attempts = {job["name"]: job["attempts"] for job in shop.data("runs", run["run_id"])["jobs"]}
    assert attempts == {"fast": 1, "slow": 2}


@pytest.mark.slow
def test_a_stream_as_a_service_goes_on_where_it_was_killed(with_java: Shop) -> None:
    shop = with_java
    (shop.root / "endless.yaml").write_text(ENDLESS)
    arrives(shop, 1)
    service = shop.data("run", "endless.yaml", "--detach", "--restart", "on-failure")
    shop.await_log(service["name"], "batch 0: 1 row")
    first = shop.child(service["name"])
    kill(first)
    arrives(shop, 2)
    shop.await_log(service["name"], "batch 1: 1 row")
    assert (shop.show(service["name"])["restarts"], shop.child(service["name"]) != first) == (1, True)
    (run,) = shop.data("runs")["runs"]
    assert run["status"] == "running"
    stopped = shop.data("services", "stop", service["name"])
    assert (stopped["status"], stopped["exit_code"]) == ("stopped", 130)
    found = shop.data("query", "SELECT id FROM lakehouse.raw.arrived ORDER BY id")
    assert found["rows"] == [[1], [2]]


def arrives(shop: Shop, number: int) -> None:
    """Put a file with one row where the stream reads; it arrives whole."""
    place = shop.root / "dropzone" / "arriving"
    place.mkdir(exist_ok=True)
    (shop.root / "row").write_text(f'{{"id": {number}}}\n')
    (shop.root / "row").rename(place / f"{number}.json")


@pytest.mark.slow
def test_the_upkeep_of_the_lake_as_a_service(with_java: Shop) -> None:
    shop = with_java
    with (shop.root / "catchment.yaml").open("a") as file:
        file.write("maintain: {lakehouse: {small_files: 2, quiet: 0s}}\n")
    (shop.root / "once.yaml").write_text(projects.workflow("once", projects.job("one", "SELECT trip_id FROM trips")))
    for _ in range(2):
        assert shop.call("run", "once.yaml").code == 0
    service = shop.data("maintain", "--detach")
    assert (service["name"], service["kind"]) == ("maintain-lake", "maintain")
    shop.await_log("maintain-lake", "files became 1")
    stopped = shop.data("services", "stop", "maintain-lake")
    assert (stopped["status"], stopped["exit_code"], stopped["error"]) == ("stopped", 0, None)
    assert shop.data("table", "health", "dataos://lakehouse:raw/trips")["files"] == 1
    found = shop.data("query", "SELECT count(*), count(DISTINCT trip_id) FROM lakehouse.raw.trips")
    assert found["rows"] == [[40, 20]]

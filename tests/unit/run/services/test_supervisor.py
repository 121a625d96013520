"""A supervisor and its command, which is a real process here and a few lines of Python."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from sqlalchemy import update

from catchment.engine.pipes import LogFile
from catchment.project.model import Hook
from catchment.project.secrets import Redactor
from catchment.run.notify.sending import Notifier
from catchment.run.services import control, liveness, processes, restarts, supervisor, supervisor_process
from catchment.run.services.supervisor import Supervisor
from catchment.run.services.supervisor_process import NameInUse, take_lease
from catchment.store import Store, open_store, schema
from catchment.store.database import database_time
from catchment.store.holding import HeldLease
from catchment.store.services import RestartPolicy, ServiceOrder, ServiceRecord, service_lease
from tests.cli.program import wait_until

NAME = "worker"
SECRET = "hunter22"
STOPS = """
import signal, sys, time
stops = []
def stop(number, _):
    stops.append(1)
    print("stopping", len(stops), signal.Signals(number).name, flush=True)
    if len(stops) == int(sys.argv[1]):
        sys.exit(0)
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, stop)
print("ready", flush=True)
while True:
    time.sleep(0.02)
"""
FAILS = """
import pathlib, sys
tries = pathlib.Path("tries")
tries.write_text(tries.read_text() + "." if tries.exists() else ".")
number = len(tries.read_text())
print(f"error[made-up]: try {number}")
print("to go on: try again")
sys.exit(0 if number == int(sys.argv[1]) else 1)
"""


@dataclass(frozen=True)
class Bench:
    """A metastore and a directory for one service."""

    store: Store
    root: Path
    held: list[HeldLease] = field(default_factory=list)

    @property
    def log(self) -> Path:
        return self.root / "service.log"

    @property
    def record(self) -> ServiceRecord:
        found = self.store.services.find(NAME)
        assert found
        return found

    def order(self, *command: str, restart: RestartPolicy = "never", directory: str | None = None) -> ServiceOrder:
        return ServiceOrder(NAME, "run", command, directory or str(self.root), str(self.log), restart)

    def begin(self, order: ServiceOrder) -> HeldLease:
        """Begin a service, as if it were on another machine."""
        heartbeat = take_lease(self.store, NAME)
        self.held.append(heartbeat)
        process = replace(processes.this_process(heartbeat.lease.owner), machine="another boot", host="elsewhere")
        self.store.services.begin(heartbeat.lease, order, process)
        return heartbeat

    def make(self, *command: str, restart: RestartPolicy = "never", directory: str | None = None) -> Supervisor:
        """A supervisor that has begun its service."""
        order = self.order(*command, restart=restart, directory=directory)
        parts = order, self.store, self.begin(order), LogFile(self.log), Redactor((SECRET,))
        return Supervisor(*parts, program=(sys.executable, "-c"))

    @contextmanager
    def running(self, *command: str, restart: RestartPolicy = "never") -> Iterator[Supervisor]:
        """A supervisor at work; ends when its command has."""
        made = self.make(*command, restart=restart)
        thread = threading.Thread(target=made.run)
        thread.start()
        try:
            yield made
        finally:
            made.insist()
            made.insist()
            thread.join(30)
        assert not thread.is_alive()

    def says(self, text: str) -> bool:
        return self.log.exists() and text in self.log.read_text()


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setattr(supervisor, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(supervisor, "ASKED_SECONDS", 0.05)
    monkeypatch.setattr(restarts, "FIRST_PAUSE", 0.01)
    with open_store(f"sqlite:///{tmp_path}/home/metastore.db") as store:
        made = Bench(store, tmp_path)
        yield made
        for heartbeat in made.held:
            heartbeat.release()


def test_a_command_that_succeeds(bench: Bench) -> None:
    bench.make(f"import sys; print('{SECRET}'); print('to the log', file=sys.stderr)").run()
    assert bench.store.leases.holder(service_lease(NAME)) is None
    record = bench.record
    assert (record.status, record.exit_code, record.error, record.restarts) == ("succeeded", 0, None, 0)
    told = bench.log.read_text()
    assert ("***\n" in told, SECRET in told, "to the log\n" in told) == (True, False, True)
    assert "succeeded with exit code 0" in told.splitlines()[-1]
    assert bench.log.stat().st_mode & 0o777 == 0o600


def test_hooks_are_told_of_a_service_that_fails(bench: Bench) -> None:
    told = bench.root / "told"
    hook = Hook("oncall", command=("tee", "-a", str(told)))
    notifier = Notifier((hook,), str(bench.root), "prod", str(bench.root / "notify.log"), ())
    order = bench.order(FAILS, "0")
    parts = order, bench.store, bench.begin(order), LogFile(bench.log), Redactor(())
    Supervisor(*parts, program=(sys.executable, "-c"), notifier=notifier).run()
    wait_until(lambda: told.exists() and told.read_text().endswith("}"), "the message")
    message = json.loads(told.read_text())
    assert (message["event"], message["service"], message["status"]) == ("service-dead", NAME, "failed")
    assert (message["errors"][0]["message"], message["next"]) == (
        "error[made-up]: try 1",
        f"catchment services restart {NAME} --env prod",
    )


def test_a_command_that_fails_is_recorded_with_its_error(bench: Bench) -> None:
    bench.make(FAILS, "0").run()
    record = bench.record
    assert (record.status, record.exit_code, record.restarts) == ("failed", 1, 0)
    assert record.error == "error[made-up]: try 1"


def test_a_command_that_is_killed(bench: Bench) -> None:
    bench.make("import os, signal; os.kill(os.getpid(), signal.SIGKILL)").run()
    record = bench.record
    assert (record.status, record.exit_code, record.error) == ("failed", 137, "the command was killed by SIGKILL")


def test_a_command_that_cannot_be_started(bench: Bench) -> None:
    bench.make("print(1)", directory=str(bench.root / "gone")).run()
    assert (bench.record.status, bench.record.exit_code) == ("failed", 126)
    assert "could not be started" in (bench.record.error or "")


def test_a_command_is_started_again_until_it_succeeds(bench: Bench) -> None:
    bench.make(FAILS, "3", restart="on-failure").run()
    record = bench.record
    assert (record.status, record.exit_code, record.error, record.restarts) == ("succeeded", 0, None, 2)


def test_a_command_that_fails_again_and_again_is_given_up(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restarts, "MOST_QUICK_FAILURES", 3)
    bench.make(FAILS, "0", restart="on-failure").run()
    record = bench.record
    assert (record.status, record.error, record.restarts) == ("failed", "error[made-up]: try 3", 2)
    assert bench.says("failed with exit code 1, after 3 quick failures")


def test_a_request_to_stop_is_passed_on_and_nothing_is_started_again(bench: Bench) -> None:
    with bench.running(STOPS, "1", restart="on-failure") as running:
        wait_until(lambda: bench.says("\nready\n"), "the command runs")
        running.stop()
        wait_until(lambda: not bench.record.is_active, "it has ended")
    assert (bench.record.status, bench.record.exit_code, bench.record.restarts) == ("stopped", 0, 0)


def test_a_second_request_of_somebody_who_insists_is_passed_on_too(bench: Bench) -> None:
    with bench.running(STOPS, "2") as running:
        wait_until(lambda: bench.says("\nready\n"), "the command runs")
        for _ in range(2):  # of a machine that shuts down, for example: it insists on nothing
            running.stop()
        wait_until(lambda: bench.says("stopping 1 SIGTERM"), "it says so")
        running.insist()
        wait_until(lambda: not bench.record.is_active, "it has ended")
    assert (bench.says("stopping 2 SIGINT"), bench.record.status) == (True, "stopped")


def test_a_pause_before_a_restart_can_be_stopped(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restarts, "FIRST_PAUSE", 3600.0)
    monkeypatch.setattr(restarts, "LONGEST_PAUSE", 3600.0)
    with bench.running(FAILS, "0", restart="on-failure") as running:
        wait_until(lambda: bench.record.status == "restarting", "it says so")
        assert (bench.record.exit_code, bench.record.error) == (1, "error[made-up]: try 1")
        running.stop()
        wait_until(lambda: not bench.record.is_active, "it has ended")
    assert (bench.record.status, (bench.root / "tries").read_text()) == ("stopped", ".")


def test_a_service_of_another_machine_is_stopped_through_the_metastore(bench: Bench) -> None:
    with bench.running(STOPS, "1"):
        wait_until(lambda: bench.says("\nready\n"), "the command runs")
        bench.store.services.request_stop(bench.record)
        wait_until(lambda: not bench.record.is_active, "it has ended")
        assert (bench.record.status, control.report(bench.record).host) == ("stopped", "elsewhere")
    assert not bench.says("stopping 2")


def test_a_supervisor_that_was_replaced_ends_its_command_and_records_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor_process, "LEASE_SECONDS", 0.4)
    with bench.running(STOPS, "1"):
        wait_until(lambda: bench.says("\nready\n"), "the command runs")
        with bench.store.database.writing() as connection:
            taken = {"owner": "another", "fence": 99, "expires": database_time() + 600, "seconds": 600}
            connection.execute(update(schema.leases).values(taken))
            connection.execute(update(schema.services).values(owner="another"))
        wait_until(lambda: bench.says("another supervisor has taken the service over"), "it says so")
    assert bench.says("stopping 1")
    assert (bench.record.status, bench.record.exit_code) == ("running", None)


def test_a_metastore_that_is_away_for_a_while_does_not_disturb_a_service(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(supervisor_process, "LEASE_SECONDS", 1.0)
    with bench.running(STOPS, "1"):
        wait_until(lambda: bench.says("\nready\n"), "the command runs")
        bench.store.database.close()
        (bench.root / "home").rename(bench.root / "away")
        wait_until(lambda: "renewing the lease" in caplog.text and "looking whether" in caplog.text, "both have failed")
        bench.store.database.close()
        (bench.root / "away").rename(bench.root / "home")
        wait_until(lambda: bench.record.is_active, "it is heard from again")
        bench.store.services.request_stop(bench.record)
        wait_until(lambda: bench.record.status == "stopped", "it has stopped")
    assert bench.log.read_text().count("started: ") == 1


def test_the_name_of_a_living_service_is_in_use(bench: Bench) -> None:
    bench.begin(bench.order())
    with pytest.raises(NameInUse) as caught:
        take_lease(bench.store, NAME)
    assert (caught.value.code, NAME in (caught.value.hint or "")) == ("service-name-in-use", True)


def test_the_name_of_a_service_that_was_killed_here_is_free_at_once(bench: Bench) -> None:
    bench.begin(bench.order())
    gone = processes.this_process(bench.record.supervisor.owner)
    with bench.store.database.writing() as connection:
        connection.execute(update(schema.services).values(machine=gone.machine, pid=gone.pid, born=1))
    assert liveness.current(bench.store, bench.record).status == "dead"
    assert bench.record.is_active  # the metastore does not know yet
    with take_lease(bench.store, NAME) as heartbeat:
        assert not bench.record.is_active
        holder = bench.store.leases.holder(service_lease(NAME))
        assert holder
        assert holder.owner == heartbeat.lease.owner


def test_a_service_that_ends_while_it_is_looked_at_is_not_taken_for_dead(bench: Bench) -> None:
    heartbeat = bench.begin(bench.order())
    gone = processes.this_process(heartbeat.lease.owner)
    with bench.store.database.writing() as connection:
        connection.execute(update(schema.services).values(machine=gone.machine, pid=gone.pid, born=1))
    seen = bench.record
    bench.store.services.finish(heartbeat.lease, NAME, "stopped", 0, None)
    assert liveness.current(bench.store, seen).status == "stopped"

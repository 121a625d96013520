"""`--detach` and `services`, as far as they go without a process."""

from __future__ import annotations

import json
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from catchment import process_identity
from catchment.cli import detaching
from catchment.cli.program import program
from catchment.run.services import control, processes
from catchment.store import Lease, open_store
from catchment.store.services import ServiceOrder, SupervisorProcess, service_lease
from tests.cli import projects

Invoke = Callable[..., Result]
METASTORE = "sqlite:///{}/.catchment/metastore.db"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TOKEN_OF_THE_LAKE", "hunter22hunter")
    secret = "./lake, catalog: {properties: {t: '${secret:TOKEN_OF_THE_LAKE}'}}}"
    projects.make(tmp_path, projects.SETTINGS.replace("./lake}", secret))
    daily = projects.workflow("daily", projects.job("one", "SELECT 1 AS one"))
    (tmp_path / "plain.yaml").write_text(daily.replace("daily", "plain"))
    (tmp_path / "daily.yaml").write_text(
        daily.replace("  dag:", "  schedule: {cron: '0 3 * * *', timezone: UTC}\n  dag:")
    )
    broken = projects.workflow("broken", projects.job("one", "SELECT 1 AS one", after="nobody"))
    (tmp_path / "broken.yaml").write_text(broken)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def invoke(root: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    def call(*arguments: str) -> Result:
        monkeypatch.setattr("sys.argv", ["catchment", *arguments])
        return CliRunner().invoke(program, arguments)

    return call


def record(root: Path, name: str, *, host: str | None = None, dead: bool = False, log: str = "/no/such.log") -> None:
    """A service of another machine, as its supervisor records it."""
    process = SupervisorProcess("another boot", 1, 1, "supervisor", host or socket.gethostname())
    command = ("schedule", "daily.yaml", "--jobs", "2")
    with open_store(METASTORE.format(root)) as store:
        lease = store.leases.acquire(service_lease(name), process.owner, 600.0)
        store.services.begin(lease, ServiceOrder(name, "schedule", command, str(root / "gone"), log), process)
        if dead:
            store.leases.release(lease)


@pytest.mark.parametrize(
    ("arguments", "code"),
    {
        "schedule daily.yaml --name x": "option-without-effect",
        "run plain.yaml --restart on-failure": "option-without-effect",
        "run plain.yaml --tick 2026-01-01T00:00:00Z --detach": "option-without-effect",
        "schedule daily.yaml --detach --name ../x": "bad-service-name",
        f"schedule daily.yaml --detach --name {'x' * 49}": "bad-service-name",
        "schedule plain.yaml --detach": "no-schedule",
        "run broken.yaml --detach": "unknown-dependency",
        "run gone.yaml --detach": "file-not-found",
        "services show nobody": "unknown-service",
        "services logs nobody": "unknown-service",
        "services stop nobody": "unknown-service",
        "services restart nobody": "unknown-service",
    }.items(),
)
def test_what_is_wrong_starts_nothing(invoke: Invoke, root: Path, arguments: str, code: str) -> None:
    answer = invoke(*arguments.split())
    assert (answer.exit_code, answer.stdout) == (2, ""), answer.stderr
    assert f"error[{code}]" in answer.stderr
    assert "hint:" in answer.stderr
    assert not (root / ".catchment").exists()


@pytest.mark.parametrize("secret", ["hunter22hunter", "token=abc", "s3.secret-access-key=x", "jdbc.PASSWORD=x"])
def test_a_command_with_a_secret_is_not_stored(invoke: Invoke, root: Path, secret: str) -> None:
    (root / "daily.yaml").rename(f"{secret}.yaml")
    answer = invoke("schedule", f"{secret}.yaml", "--detach")
    assert (answer.exit_code, answer.stdout) == (2, "")
    assert "error[secret-on-command-line]" in answer.stderr
    assert not (root / ".catchment").exists()


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        ("run a.yaml --detach", "run a.yaml MORE"),
        ("--debug run --detach --name x a.yaml --restart on-failure -q", "--debug run a.yaml -q MORE"),
        ("run --name=x --restart=never --detach -- a.yaml", "run MORE -- a.yaml"),
        ("run --jobs 2 --detach -- --name", "run --jobs 2 MORE -- --name"),
        ("run --from-run --detach --detach", "run --from-run --detach MORE"),
    ],
)
def test_the_command_of_a_service_is_what_was_typed(typed: str, stored: str) -> None:
    verb = program.get_command(click.Context(program), "run")
    assert verb
    assert detaching.service_command(typed.split(), verb, ["MORE"]) == stored.split()


def test_nothing_is_listed_where_there_is_nothing(invoke: Invoke, root: Path) -> None:
    assert json.loads(invoke("services", "ls", "-o", "json").stdout) == {"services": []}
    assert invoke("services", "ls").stderr == "no services yet\n"
    assert not (root / ".catchment").exists()


def test_a_service_of_another_machine_is_shown_and_cannot_be_reached(invoke: Invoke, root: Path) -> None:
    record(root, "far", host="elsewhere")
    shown = invoke("services", "show", "far").stdout
    assert "status: running\ncommand: catchment schedule daily.yaml --jobs 2\n" in shown
    for verb in ("restart", "logs"):
        answer = invoke("services", verb, "far")
        assert (answer.exit_code, "error[service-elsewhere]" in answer.stderr, "elsewhere" in answer.stderr) == (
            *(2, True),
            True,
        )


def test_a_service_without_its_directory_is_not_started(invoke: Invoke, root: Path) -> None:
    record(root, "moved", dead=True)
    answer = invoke("services", "restart", "moved")
    assert (answer.exit_code, "error[service-elsewhere]" in answer.stderr) == (2, True)


def test_a_service_that_does_not_end_is_not_waited_for_forever(
    invoke: Invoke, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(root, "busy")
    monkeypatch.setattr(control, "STOP_SECONDS", 0.0)
    answer = invoke("services", "stop", "busy", "-o", "json")
    assert (answer.exit_code, json.loads(answer.stdout)["error"]["code"]) == (1, "service-still-stopping")
    assert "status: stopping\n" in invoke("services", "show", "busy").stdout


def test_only_somebody_who_stops_a_service_again_insists(
    invoke: Invoke, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(root, "busy")
    sent = list[int]()
    monkeypatch.setattr(process_identity, "send", lambda _, number: sent.append(number))
    monkeypatch.setattr(control, "STOP_SECONDS", 0.0)
    for _ in range(2):
        invoke("services", "stop", "busy")
    assert sent == [signal.SIGTERM, signal.SIGINT]


def test_what_does_not_run_cannot_be_stopped(invoke: Invoke, root: Path) -> None:
    record(root, "dead", dead=True)
    assert invoke("services", "ls").stdout.splitlines()[-1].split()[:3] == ["dead", "schedule", "dead"]
    answer = invoke("services", "stop", "dead")
    assert (answer.exit_code, "error[service-not-running]" in answer.stderr) == (2, True)


def test_a_service_that_ends_while_it_is_to_be_restarted_is_started_again(
    invoke: Invoke, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(root, "ending")
    (root / "gone").mkdir()
    started = list[str]()

    def end(_: SupervisorProcess) -> bool:
        """It ends after it was found running, and before it is asked to stop."""
        with open_store(METASTORE.format(root)) as store:
            holder = store.leases.holder(service_lease("ending"))
            assert holder
            store.leases.release(Lease(service_lease("ending"), holder.owner, holder.fence))
        return False

    monkeypatch.setattr(processes, "is_elsewhere", end)
    monkeypatch.setattr(control, "launch", lambda _, order: started.append(order.name))
    answer = invoke("services", "restart", "ending")
    assert (answer.exit_code, started) == (0, ["ending"])


def test_logs_are_printed_with_the_older_one_first(invoke: Invoke, root: Path) -> None:
    log = root / "service.log"
    log.write_text("new\n")
    (root / "service.log.1").write_text("old\n")
    record(root, "dead", dead=True, log=str(log))
    assert invoke("services", "logs", "dead").stdout == "old\nnew\n"
    assert invoke("services", "logs", "dead", "-f").stdout == "old\nnew\n"
    files = json.loads(invoke("services", "logs", "dead", "-o", "json").stdout)["files"]
    assert files == [str(root / "service.log.1"), str(log)]
    assert "error[option-without-effect]" in invoke("services", "logs", "dead", "-f", "-o", "json").stderr

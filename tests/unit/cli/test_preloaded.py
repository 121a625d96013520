"""Commands that a process runs which has loaded Catchment already: real processes, without Spark."""

from __future__ import annotations

import errno
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType, SimpleNamespace

import pytest

from catchment import handover, process_identity
from catchment.cli import preloaded_client, preloaded_server
from catchment.run.residents import places
from catchment.run.residents.places import Resident
from catchment.run.residents.preloaded import LOG, Preloaded
from tests.cli import projects
from tests.cli.program import wait_until

DIRECTLY = "from catchment.cli.program import main; main()"
HANDED_OVER = """
import sys
from catchment.cli import preloaded_client
code = preloaded_client.run(sys.argv[1:])
sys.exit(99 if code is None else code)
"""
NOT_TAKEN = 99
PLACE = Path(".catchment", "engines", "engine-default")
WATCHING = ("validate", "flow.yaml", "--watch")


def made(root: Path) -> Path:
    projects.make(root)
    (root / "flow.yaml").write_text(projects.workflow("flow", projects.job("one", "SELECT 1 AS one")))
    (root / "bad.yaml").write_text("name: bad\n")
    (root / "below").mkdir()
    return root


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("preloaded"))


@contextmanager
def serving(project: Path) -> Iterator[Preloaded]:
    place = project / PLACE
    about = "engine-default", "default", place, secrets.token_hex(32), process_identity.identity(), "engine.log"
    places.announce(Resident(*about))
    with Preloaded(place) as server:
        server.start()
        wait_until(lambda: (place / handover.SOCKET).exists(), "commands are taken over")
        yield server
    assert server._process
    server._process.wait()


@pytest.fixture(scope="module")
def server(project: Path) -> Iterator[Preloaded]:
    with serving(project) as found:
        yield found


def call(
    how: str,
    *arguments: str,
    cwd: Path,
    prefix: tuple[str, ...] = (),
    stdin: str = "",
    env: Mapping[str, str] = MappingProxyType({}),
) -> tuple[int, str, str]:
    command = [*prefix, sys.executable, "-c", how, *arguments]
    done = subprocess.run(
        command, cwd=cwd, env=os.environ | dict(env), input=stdin, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


@contextmanager
def begun(how: str, *arguments: str, cwd: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", how, *arguments]
    with subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def children(server: Preloaded) -> list[str]:
    assert server._process
    tasks = Path(f"/proc/{server._process.pid}/task").glob("*/children")
    return [child for file in tasks for child in file.read_text().split()]


@pytest.mark.parametrize(
    ("arguments", "where", "env"),
    [
        (("validate", "flow.yaml"), "", {}),
        (("validate", "../flow.yaml", "-o", "json"), "below", {}),
        (("validate", "bad.yaml"), "", {"NO_COLOR": "1"}),
        (("plan", "flow.yaml"), "", {"COLUMNS": "60"}),
        (("runs",), "", {}),
        (("table", "ls", "nowhere"), "", {}),
        (("run", "--nothing"), "", {}),
        (("query", "-f", "-", "--engine", "nobody"), "", {}),
        (("state", "--help"), "", {}),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else "",
)
def test_a_command_gives_the_same_answer_either_way(
    server: Preloaded, project: Path, arguments: tuple[str, ...], where: str, env: Mapping[str, str]
) -> None:
    directly, taken = (
        call(how, *arguments, cwd=project / where, stdin="SELECT 1", env=env) for how in (DIRECTLY, HANDED_OVER)
    )
    assert taken[0] != NOT_TAKEN
    assert taken == directly


@pytest.mark.parametrize(("leave", "code"), [("", 0), ("sys.exit()", 0), ("sys.exit(3)", 3), ("sys.exit('why')", 1)])
def test_a_command_ends_as_in_a_process_of_its_own(tmp_path: Path, leave: str, code: int) -> None:
    script = f"""
import atexit, sys, threading, time
from catchment.cli.preloaded_server import end_with

def command():
    atexit.register(print, "at the end")
    threading.Thread(target=lambda: (time.sleep(0.1), print("thread"))).start()
    print("answer")
    {leave}

COMMAND
"""
    ways = [call(script.replace("COMMAND", way), cwd=tmp_path) for way in ("command()", "end_with(command)")]
    assert ways[1] == ways[0] == (code, "answer\nthread\nat the end\n", "why\n" if code == 1 else "")


def test_variables_are_those_of_the_command(server: Preloaded, project: Path) -> None:
    file = project / "catchment.yaml"
    text = file.read_text()
    file.write_text(f"{text}metastore: ${{env:MY_METASTORE}}\n")
    try:
        assert call(HANDED_OVER, "runs", cwd=project)[0] == 2
        assert call(HANDED_OVER, "runs", cwd=project, env={"MY_METASTORE": "sqlite:///other.db"})[0] == 0
    finally:
        file.write_text(text)


@pytest.mark.parametrize(
    ("prefix", "env"),
    [(("nice", "-n", "3"), {}), ((), {"PYTHONWARNINGS": "ignore"}), ((), {"LC_ALL": "C.UTF-8"})],
    ids=["priority", "Python", "locale"],
)
def test_a_command_in_other_surroundings_is_not_taken(
    server: Preloaded, project: Path, prefix: tuple[str, ...], env: Mapping[str, str]
) -> None:
    assert call(HANDED_OVER, "runs", cwd=project, prefix=prefix, env=env) == (NOT_TAKEN, "", "")


def test_a_client_that_knows_another_token_is_not_served(server: Preloaded, project: Path) -> None:
    file = project / PLACE / handover.ABOUT
    text = file.read_text()
    try:
        for about in (f'{{"token": "{secrets.token_hex(32)}"}}', '{"token": ""}', "{}", "[]", ""):
            file.write_text(about)
            assert call(HANDED_OVER, "runs", cwd=project) == (NOT_TAKEN, "", "")
    finally:
        file.write_text(text)
    assert call(HANDED_OVER, "runs", cwd=project)[0] == 0


@pytest.mark.parametrize("token", [b"", b"wrong", b"0" * 64], ids=["none", "short", "wrong"])
def test_a_request_without_the_token_is_not_accepted(server: Preloaded, project: Path, token: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as connection, handover.within(str(project / PLACE / handover.SOCKET)) as name:
        connection.connect(name)
        assert requested(connection, project, token) != handover.ACCEPTED


def requested(connection: socket.socket, project: Path, token: bytes) -> bytes:
    """What a server answers to somebody who does all that a client does, with this token."""
    with suppress(ConnectionError):  # it has hung up already
        connection.sendall(token)
        socket.send_fds(connection, [b"\n"], [0, 1, 2])
        connection.sendall(json.dumps(preloaded_client._request(("runs",), project)).encode() + b"\n")
        return connection.recv(len(handover.ACCEPTED))
    return b""


def test_a_connection_that_cannot_be_accepted_is_not_tried_again_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def accept() -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    full = preloaded_server.Server.__new__(preloaded_server.Server)
    full._listener = SimpleNamespace(accept=accept)  # type: ignore[assignment]
    assert full._fork() is None
    assert pauses == [preloaded_server.ACCEPT_SECONDS]


def test_verbs_with_a_terminal_of_their_own_and_commands_without_a_stream_are_not_taken(
    server: Preloaded, project: Path
) -> None:
    assert call(HANDED_OVER, "shell", cwd=project)[0] == NOT_TAKEN
    assert call(HANDED_OVER, cwd=project)[0] == NOT_TAKEN
    assert call(HANDED_OVER, "query", "-f", "/dev/fd/3", cwd=project)[0] == NOT_TAKEN
    closed = ["sh", "-c", 'exec "$@" <&-', "sh", sys.executable, "-c", HANDED_OVER, "runs"]
    assert subprocess.run(closed, cwd=project, check=False).returncode == NOT_TAKEN


def test_an_interrupted_command_ends_as_it_does_by_itself(server: Preloaded, project: Path) -> None:
    with begun(HANDED_OVER, *WATCHING, cwd=project) as watching:
        assert watching.stdout
        assert watching.stdout.readline() == "1 file checked, valid\n"
        watching.send_signal(signal.SIGINT)
        assert watching.wait() == 130


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_signals_that_the_service_ignores_end_a_command(tmp_path: Path, number: signal.Signals) -> None:
    project, before = made(tmp_path), signal.signal(number, signal.SIG_IGN)
    try:
        with serving(project):
            signal.signal(number, signal.SIG_DFL)  # these tests may run in a program that ignores it, such as nohup
            with begun(HANDED_OVER, *WATCHING, cwd=project) as watching:
                assert watching.stdout
                assert watching.stdout.readline()
                watching.send_signal(number)
                assert watching.wait() == 128 + number
    finally:
        signal.signal(number, before)


def test_modules_of_the_project_are_not_taken_for_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = made(tmp_path)
    (project / "yaml.py").write_text("raise SystemExit('the wrong one')\n")
    monkeypatch.chdir(project)
    with serving(project):
        pass


def test_a_command_ends_with_its_client(server: Preloaded, project: Path) -> None:
    with begun(HANDED_OVER, *WATCHING, cwd=project) as watching:
        assert watching.stdout
        assert watching.stdout.readline()
        assert len(children(server)) == 1
        watching.kill()
    wait_until(lambda: children(server) == [], "the command has ended, too")


def test_a_command_that_is_killed_is_told(server: Preloaded, project: Path) -> None:
    with begun(HANDED_OVER, *WATCHING, cwd=project) as watching:
        assert watching.stdout
        assert watching.stdout.readline()
        [child] = children(server)
        os.kill(int(child), signal.SIGKILL)
        assert watching.wait() == 128 + signal.SIGKILL


def test_commands_go_on_when_nobody_needs_the_server_any_more(tmp_path: Path) -> None:
    project = made(tmp_path)
    with serving(project) as leaving:
        assert leaving._process
        with begun(HANDED_OVER, *WATCHING, cwd=project) as watching:
            assert watching.stdout
            assert watching.stdout.readline()
            leaving.__exit__()
            wait_until(lambda: call(HANDED_OVER, "runs", cwd=project)[0] == NOT_TAKEN, "no further commands are taken")
            assert leaving._process.poll() is None
            watching.send_signal(signal.SIGTERM)
            assert watching.wait() == 128 + signal.SIGTERM
        assert leaving._process.wait() == 0
    assert (project / PLACE / LOG).read_text() == ""


LOADED = """
import contextlib, io, sys
from catchment.cli.preloaded_server import preload
preload()
before = set(sys.modules)
from catchment.cli.program import program
with contextlib.redirect_stdout(io.StringIO()):
    program.main(args=sys.argv[1:], prog_name="catchment", standalone_mode=False)
print(*sorted(name for name in set(sys.modules) - before if name.startswith("catchment")))
"""


@pytest.mark.parametrize("verb", ["runs", "writers", "ticks", "engines", "validate flow.yaml", "plan flow.yaml"])
def test_nothing_of_ours_is_left_to_load(project: Path, verb: str) -> None:
    code, out, err = call(LOADED, *verb.split(), cwd=project)
    assert (code, out.strip()) == (0, ""), err

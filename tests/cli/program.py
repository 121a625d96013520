"""Drives the real `catchment` program as a person or a script would: as a process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.spark.hosts import GATEWAY_FILE, PROCESSES, Host
from tests.spark.processes.attached import LENT

MARK = "CATCHMENT_TEST_MARK"
PROGRAM = str(Path(sys.executable).parent / "catchment")


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


def call(
    *arguments: str | Path, cwd: Path, prefix: tuple[str, ...] = (), java: Host | None = None, **env: str
) -> Answer:
    """Run the program to its end; where a Java is lent to it, its engines start in a second."""
    program, way = entry(java)
    command = [*prefix, *program, *map(str, arguments)]
    done = subprocess.run(
        command, cwd=cwd, env=os.environ | env | way, capture_output=True, text=True, timeout=280, check=False
    )
    return Answer(done.returncode, done.stdout, done.stderr)


def entry(java: Host | None) -> tuple[list[str], dict[str, str]]:
    """What to start, and the variables with which it finds the Java that is lent to it."""
    if java is None:
        return [PROGRAM], {}
    return [sys.executable, str(PROCESSES / "attached.py")], {GATEWAY_FILE: str(java.gateway_file)}


def lending(java: Host) -> dict[str, str]:
    """Variables with which the program lends a Java to the services that it starts, too."""
    return {"PYTHONPATH": str(PROCESSES / "lent"), LENT: str(java.gateway_file)}


@dataclass
class Running:
    """A program that is still running; every process it starts carries a mark by which it can be found."""

    process: subprocess.Popen[str]
    mark: str
    log: Path
    started: float = field(default_factory=time.monotonic)

    @property
    def told(self) -> str:
        return self.log.read_text()

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        """A test that fails leaves nothing running: engines end when the program that started them is gone."""
        self.process.kill()
        self.process.communicate()

    def finish(self, timeout: float = 120) -> Answer:
        out, _ = self.process.communicate(timeout=timeout)
        return Answer(self.process.returncode, out, self.told)

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def family(self) -> dict[int, str]:
        """Every living process that this program started, itself included: pid -> command line."""
        return family(self.mark)


def family(mark: str) -> dict[int, str]:
    """Every living process whose environment has a mark: pid -> command line."""
    return {pid: _read(pid, "cmdline") for pid in _pids() if f"{MARK}={mark}" in _read(pid, "environ")}


def begin(*arguments: str | Path, cwd: Path, java: Host | None = None) -> Running:
    """Start the program and leave it running."""
    mark = uuid.uuid4().hex
    log = cwd / f"{mark}.err"
    program, way = entry(java)
    with log.open("w") as err:
        process = subprocess.Popen(
            [*program, *map(str, arguments)],
            cwd=cwd,
            env=os.environ | way | {MARK: mark},
            stdout=subprocess.PIPE,
            stderr=err,
            text=True,
            start_new_session=True,
        )
    return Running(process, mark, log)


def wait_until(true: Callable[[], object], what: str, timeout: float = 180) -> None:
    """Wait for something to become true; say what was waited for if it does not."""
    end = time.monotonic() + timeout
    while not true():
        assert time.monotonic() < end, f"waited {timeout} s in vain: {what}"
        time.sleep(0.1)


def _pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _read(pid: int, what: str) -> str:
    try:
        return Path(f"/proc/{pid}/{what}").read_text(errors="replace").replace("\0", " ")
    except OSError:
        return ""

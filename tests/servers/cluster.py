"""A real standalone Spark cluster on loopback, from the pyspark package: a master and two workers."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from tests.servers.s3 import free_port

_DEPLOY = "org.apache.spark.deploy"
_EXECUTOR = "CoarseGrainedExecutorBackend"
START_SECONDS = 120.0


@dataclass(frozen=True)
class Cluster:
    """Where the master listens, and what was started."""

    master: str
    directory: Path
    processes: tuple[subprocess.Popen[bytes], ...]

    def stop(self) -> None:
        """End the workers, which end their executors, and then the master."""
        for process in reversed(self.processes):
            process.terminate()
            process.wait(30)


def start(directory: Path, *, workers: int = 2) -> Cluster:
    """Start a master and so many workers, each with two cores and 1 GB for executors."""
    home, port = spark_home(), free_port()
    master = f"spark://127.0.0.1:{port}"
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_DAEMON_MEMORY": "256m"}
    started = []
    for number in range(workers + 1):
        place = directory / (f"worker-{number}" if number else "master")
        place.mkdir(parents=True)
        role = ["worker.Worker", "--cores", "2", "--memory", "1g", "--work-dir", str(place), master]
        kind, *arguments = role if number else ["master.Master", "--port", str(port)]
        host = ("--host", "127.0.0.1", "--webui-port", "0")
        command = [str(home / "bin" / "spark-class"), f"{_DEPLOY}.{kind}", *host, *arguments]
        with (directory / f"{place.name}.log").open("wb") as log:
            started.append(subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT))
        _await(port)
    return Cluster(master, directory, tuple(started))


def executors(application: str) -> list[int]:
    """The processes on this machine that are executors of an application, whichever cluster started them."""
    processes = {int(entry.name): _command(entry) for entry in Path("/proc").iterdir() if entry.name.isdigit()}
    return [pid for pid, command in processes.items() if _is_executor(command) and application in command]


def _is_executor(command: list[str]) -> bool:
    return bool(command) and command[0].endswith("java") and any(_EXECUTOR in part for part in command)


def spark_home() -> Path:
    """The Spark of the package pyspark."""
    spec = importlib.util.find_spec("pyspark")
    assert spec
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0])


def _await(port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise RuntimeError("the master did not start")


def _command(process: Path) -> list[str]:
    try:
        return (process / "cmdline").read_text(errors="replace").split("\0")
    except OSError:
        return []

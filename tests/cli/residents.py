"""Projects whose engines stay, and what is known of these."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cli import program, projects
from tests.cli.program import PROGRAM
from tests.cli.test_lifetimes import NEVER_ENDS


@dataclass(frozen=True)
class Lake:
    """A project, and what is known of its resident engines."""

    root: Path

    def call(self, *arguments: str, prefix: tuple[str, ...] = ()) -> program.Answer:
        return program.call(*arguments, cwd=self.root, prefix=prefix)

    def data(self, *arguments: str) -> Any:
        answer = self.call(*arguments, "-o", "json")
        assert answer.code == 0, answer.err
        return answer.data

    def value(self, sql: str) -> Any:
        return self.data("query", sql)["rows"][0][0]

    @contextmanager
    def begun(self, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
        """A command that is running; it has the same environment as the others."""
        command = [PROGRAM, *arguments]
        with subprocess.Popen(command, cwd=self.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            try:
                yield process
            finally:
                process.kill()

    @property
    def residents(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.data("engines")["residents"]
        return found

    def resident(self) -> dict[str, Any]:
        (found,) = self.residents
        return found

    def worker(self, service: str) -> int:
        """The process of a resident engine's worker."""
        return self._child(service, b"catchment.worker")

    def preloaded(self, service: str) -> int:
        """The process that runs commands beside a resident engine."""
        return self._child(service, b"catchment.cli.preloaded_server")

    def _child(self, service: str, what: bytes) -> int:
        log = self.root / ".catchment" / "services" / service / "service.log"
        host = re.findall(r"\(process (\d+)\)", log.read_text())[-1]
        (child,) = [pid for pid in children(int(host)) if what in Path(f"/proc/{pid}/cmdline").read_bytes()]
        return child

    def is_idle(self) -> bool:
        return not self.resident()["clients"]


def children(process: int) -> list[int]:
    """The processes that a process has started and that are alive."""
    files = Path(f"/proc/{process}/task").glob("*/children")
    return [int(child) for file in files for child in file.read_text().split()]


@contextmanager
def up(root: Path) -> Iterator[Lake]:
    """A project whose engine is up."""
    found = made(root)
    ready = found.data("up")["residents"]
    assert [(each["engine"], each["service"], each["idle_seconds"]) for each in ready] == [
        ("default", "engine-default", None)
    ]
    yield found
    assert found.data("down")["ended"] == ["engine-default"]


def made(root: Path) -> Lake:
    projects.make(
        root, projects.SETTINGS.replace("depots:\n", "depots:\n  events: {kind: delta, location: ./events}\n")
    )
    projects.shadow(root)
    (root / "w.yaml").write_text(projects.workflow("w", projects.job("one", "SELECT trip_id FROM trips")))
    signed = projects.job("one", "SELECT trip_id, '${CLIENT}' AS client FROM trips", to="lakehouse:raw/signed")
    (root / "signed.yaml").write_text(f"vars: {{CLIENT: nobody}}\n{projects.workflow('signed', signed)}")
    (root / "slow.yaml").write_text(projects.workflow("slow", projects.job("slow", NEVER_ENDS)))
    (root / "caching.yaml").write_text(caching())
    return Lake(root)


def caching() -> str:
    """A workflow that caches a table under a name that means nothing at its end."""
    statements = "USE lakehouse", "CACHE TABLE raw.trips", "USE spark_catalog"
    steps = "".join(f"- {{name: s{number}, sql: {sql}}}\n              " for number, sql in enumerate(statements))
    job = projects.job("one", "SELECT 1 AS one", to="lakehouse:raw/ones")
    return projects.workflow(
        "caching", job.replace("- name: result\n                sql", f"{steps}- name: result\n                sql")
    )

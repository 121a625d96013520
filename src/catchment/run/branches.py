"""Bringing branches of tables forward: who asks for it, and an engine that does it."""

from __future__ import annotations

import getpass
import socket
from collections.abc import Mapping
from typing import Any

from catchment.engine.launcher import EngineProcess
from catchment.plan.datasets import of_input
from catchment.plan.engines import reading_engine
from catchment.project.model import Project
from catchment.run.engines import Launch
from catchment.run.lake import Reader, Tell, check_depot


def fast_forward(
    project: Project,
    address: str,
    branch: str,
    to: str,
    *,
    dry_run: bool = False,
    tell: Tell = lambda _: None,
    launch: Launch = EngineProcess.start,
) -> Mapping[str, Any]:
    """Bring the branch `to` of a table to the head of `branch`; the table remembers who asked for it."""
    table = of_input(address, "iceberg", project)
    check_depot(table.depot, reading_engine(project))
    with Reader(project, tell=tell, launch=launch) as reader:
        return reader.fast_forward(table, branch, to, by=who(), dry_run=dry_run)


def who() -> str:
    """The person at the keyboard."""
    return f"{getpass.getuser()}@{socket.gethostname()}"

"""Names of runs and of those who execute them."""

from __future__ import annotations

import os
import secrets
import socket
from datetime import datetime
from pathlib import Path

from catchment.project.model import Project


def new_run_id(now: datetime) -> str:
    """An id that sorts by time and that two runs started in one second do not share."""
    return f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


def owner() -> str:
    """Who holds a run's lease: readable, and different each time."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"


def log_directory(project: Project, run_id: str) -> Path:
    """Where the logs and events of a run are."""
    return project.home / "runs" / run_id

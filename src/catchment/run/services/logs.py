"""The logs of services: which files they are, and their text as it is written."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from catchment.engine.pipes import older_log
from catchment.errors import RequestError
from catchment.project.model import Project
from catchment.run.services.control import show

LOOK_SECONDS = 0.2


def log_files(project: Project, name: str) -> list[Path]:
    """The log files of a service, oldest first; raises RequestError if they are on another machine."""
    found = show(project, name)
    path = Path(found.log)
    if not path.exists():
        raise RequestError(
            f"the log of service {name} is not on this machine",
            code="service-elsewhere",
            hint=f"read {path} on {found.host}",
        )
    return [file for file in (older_log(path), path) if file.exists()]


def follow(path: Path, has_ended: Callable[[], bool]) -> Iterator[str]:
    """The text of a log as it is written, through changes of the file, until its service has ended."""
    file = path.open(encoding="utf-8", errors="replace")
    try:
        while True:
            ended = has_ended()  # asked before the last reading, so that nothing is left out
            if text := file.read():
                yield text
            elif _is_another(path, file.fileno()):
                file.close()
                file = path.open(encoding="utf-8", errors="replace")
            elif ended:
                return
            else:
                time.sleep(LOOK_SECONDS)
    finally:
        file.close()


def _is_another(path: Path, number: int) -> bool:
    """Whether a new log was begun since the file was opened."""
    with suppress(FileNotFoundError):
        return not os.path.samestat(path.stat(), os.fstat(number))
    return False

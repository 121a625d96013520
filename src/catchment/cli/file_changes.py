"""Waits until one of several files changes."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from pathlib import Path

LOOK_SECONDS = 0.2

Stamps = Mapping[Path, tuple[int, int] | None]


def stamps(files: Iterable[Path]) -> Stamps:
    """The modification time and the size of each file; None if it does not exist."""
    return {file: _stamp(file) for file in files}


def wait_for_change(before: Stamps) -> None:
    """Return when one of the files has changed."""
    while stamps(before) == before:
        time.sleep(LOOK_SECONDS)


def _stamp(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size

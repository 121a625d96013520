"""Waits until somebody saves one of some files."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from pathlib import Path

LOOK_SECONDS = 0.2

Stamps = Mapping[Path, tuple[int, int] | None]


def stamps(files: Iterable[Path]) -> Stamps:
    """When each file was changed last, and its size; None for one that is not there."""
    return {file: _stamp(file) for file in files}


def wait_for_change(before: Stamps) -> None:
    """Return when one of the files is not as it was."""
    while stamps(before) == before:
        time.sleep(LOOK_SECONDS)


def _stamp(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size

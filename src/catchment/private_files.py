"""Files and directories that only their owner may read, whatever the umask is.

The metastore, logs, run directories and caches show what a project does and with which data. They are created for their
owner only; existing ones with wider access, from an older version or a looser umask, are tightened.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

OTHERS = 0o077
"""The permissions of everyone but the owner."""


def make_directory(path: Path) -> None:
    """Create a directory and its missing parents for the owner only; tighten it if it exists."""
    missing = [each for each in path.parents if not each.exists()]
    for each in (*reversed(missing), path):
        each.mkdir(mode=0o700, exist_ok=True)
    tighten(path, 0o700)


def make_file(path: Path) -> None:
    """Create a file for the owner only; tighten it if it exists."""
    os.close(os.open(path, os.O_CREAT | os.O_RDONLY | os.O_NONBLOCK, 0o600))
    tighten(path, 0o600)


def tighten(path: Path, mode: int) -> None:
    """Remove other users' access to a file or directory; devices and files of other owners stay as they are."""
    with contextlib.suppress(FileNotFoundError, PermissionError):
        found = path.stat().st_mode
        if found & OTHERS and (stat.S_ISREG(found) or stat.S_ISDIR(found)):
            path.chmod(mode)

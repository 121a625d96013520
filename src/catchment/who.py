"""Names the user behind an action, for the record."""

from __future__ import annotations

import getpass
import os
import socket


def who() -> str:
    """The user or account that this process runs as, with the host."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # the user id has no name on this machine, as in some containers
        name = f"uid-{os.getuid()}"
    return f"{name}@{socket.gethostname()}"

"""Who does something, for the record."""

from __future__ import annotations

import getpass
import os
import socket


def who() -> str:
    """The person, or the account, that this process runs for."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # the number of the user has no name on this machine, as in some containers
        name = f"uid-{os.getuid()}"
    return f"{name}@{socket.gethostname()}"

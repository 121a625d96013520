"""Who does something, for the record."""

from __future__ import annotations

import getpass
import socket


def who() -> str:
    """The person, or the account, that this process runs for."""
    return f"{getpass.getuser()}@{socket.gethostname()}"

"""How Catchment starts programs of its own."""

from __future__ import annotations

import sys

# A project may have a `calendar.py` or a `secrets.py`, which are not Python's. Python 3.10 cannot be told to leave the
# modules of the working directory alone.
_SAFE = ("-P",) if sys.version_info >= (3, 11) else ()


def own_program(module: str) -> tuple[str, ...]:
    """The command that runs a module of Catchment, or of a library, with this Python."""
    return sys.executable, *_SAFE, "-m", module

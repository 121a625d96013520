"""The command line: one file per verb, heavy imports only inside the verb."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command of this process, by a process that has loaded Catchment already if there is one."""
    from catchment.cli import preloaded_client

    code = preloaded_client.run(sys.argv[1:])
    if code is not None:
        sys.stderr.flush()
        os._exit(code)  # at once: nothing was begun here that Python would have to end
    from catchment.cli.program import main as run

    run()

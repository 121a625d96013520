"""The command of a service: `python -m catchment.cli.supervised VERB …` is `catchment VERB …` under a supervisor.

Its standard input is a pipe whose other end only its supervisor holds. When the pipe ends, the supervisor is gone, and
the command stops as on Ctrl-C, so that nothing keeps running without a supervisor.
"""

from __future__ import annotations

import os
import signal
import threading
import time

from catchment.cli.program import main

GRACE_SECONDS = 30.0
"""How long the command may take to stop when its supervisor is gone."""


def _end_with_supervisor() -> None:
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_SECONDS)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    threading.Thread(target=_end_with_supervisor, name="supervisor", daemon=True).start()
    main()

"""Named points on the commit path where a test can kill or stop this process; otherwise they do nothing.

`CATCHMENT_FAULT=point:action` in the environment of an engine arms one point. Actions: `kill` (SIGKILL to the engine
and its JVM), `stop` (SIGSTOP, until a SIGCONT arrives), `lose` (the catalog's response is dropped).
"""

from __future__ import annotations

import os
import signal
import threading
from typing import Literal

CommonPoint = Literal[
    "before-data-written", "data-written", "before-sealed", "sealed", "lease-taken", "before-marked", "marked"
]
TablePoint = Literal["history-searched", "manifest-list-written", "before-swap", "swap-applied"]
FilesPoint = Literal["planned", "partition-published", "old-removed", "stage-cleared"]
OwnPoint = Literal["before-own-commit", "own-commit-applied"]
"""In formats that commit by themselves."""
PublishedPoint = Literal["before-pointer-moved", "pointer-moved", "publication-recorded"]
"""While the pointer of a published catalog moves."""
StatePoint = Literal["window-opened", "before-state-moved", "state-moved"]
"""In incremental jobs."""
StreamPoint = Literal["batch-written"]
"""In streams: a batch is committed, but the checkpoint does not know it yet."""
Point = CommonPoint | TablePoint | FilesPoint | OwnPoint | StatePoint | PublishedPoint | StreamPoint


class AnswerLost(Exception):
    """Simulates a catalog that has committed but whose response never arrives."""


_armed = os.environ.get("CATCHMENT_FAULT", "")


def point(name: Point) -> None:
    """Trigger the fault of this point, if it is armed."""
    if _armed and _armed.partition(":")[0] == name:
        _strike(_armed.partition(":")[2])


def _strike(action: str) -> None:
    global _armed
    _armed = ""  # only once: a process that was stopped must not stop again after it continues
    if action == "lose":
        raise AnswerLost
    if action == "stop":
        # To this thread: a signal to the whole process may arrive after this thread has entered a transaction.
        signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)
        return
    os.killpg(os.getpgid(0), signal.SIGKILL)

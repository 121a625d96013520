"""Named points of the commit path at which a test can end or stop this process; in every other run they do nothing.

`CATCHMENT_FAULT=point:action` in the environment of an engine arms one point. Actions: `kill` (SIGKILL to the engine
and its JVM), `stop` (SIGSTOP, until somebody continues it), `lose` (the answer of the catalog is dropped).
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
"""Of formats that commit by themselves."""
PublishedPoint = Literal["before-pointer-moved", "pointer-moved", "publication-recorded"]
"""Of what readers of a published catalog see."""
StatePoint = Literal["window-opened", "before-state-moved", "state-moved"]
"""Of jobs that go on from where the run before ended."""
StreamPoint = Literal["batch-written"]
"""Of batches that are committed, before the checkpoint knows of it."""
Point = CommonPoint | TablePoint | FilesPoint | OwnPoint | StatePoint | PublishedPoint | StreamPoint


class AnswerLost(Exception):
    """Stands for a catalog that committed and whose answer never arrived."""


_armed = os.environ.get("CATCHMENT_FAULT", "")


def point(name: Point) -> None:
    """Pass a named point of the commit path."""
    if _armed and _armed.partition(":")[0] == name:
        _strike(_armed.partition(":")[2])


def _strike(action: str) -> None:
    global _armed
    _armed = ""  # once: the process that was stopped and goes on must not stop again
    if action == "lose":
        raise AnswerLost
    if action == "stop":
        # To this thread: sent to the process, it may arrive after the thread has gone on into a transaction.
        signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)
        return
    os.killpg(os.getpgid(0), signal.SIGKILL)

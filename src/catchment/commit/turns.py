"""Taking turns: writers of a table that would only undo each other's work if they went on at the same time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from catchment.commit.patience import patiently
from catchment.commit.renewal import held, taken
from catchment.commit.writer import Listener
from catchment.store import Store

LOOK_SECONDS = 0.1
"""How often a writer that waits for its turn looks whether it has come."""


Right = Literal["table", "rows", "published"]
"""To commit to a table at all, to change rows of it, or to move what its readers see."""


@contextmanager
def turn(store: Store, target: str, owner: str, listener: Listener, right: Right = "table") -> Iterator[None]:
    """Hold a lease of a table; whoever finds it held waits, however long the other one takes."""
    while (lease := patiently(lambda: taken(store, f"{right}/{target}", owner))) is None:
        listener.check()
        time.sleep(LOOK_SECONDS)
    with held(store, lease):
        yield

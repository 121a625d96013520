"""Takes the table's lease for the swap of a compaction alone, where a format's own code commits.

A compaction rewrites files for minutes and then changes the table in a moment. The format's code does both in one
call. Inside of that call its commit waits at a gate (`SwapGate.java`); a thread of ours takes the lease, lets it
through, and gives the lease back.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

from pyspark.sql import SparkSession

from catchment.commit import faults
from catchment.jvm import java_source
from catchment.jvm.classes import Jvm

CLASS = "catchment.commit.SwapGate"
SOURCE = Path(__file__).with_name("SwapGate.java")
LOOK_MILLIS = 200
"""How long to wait for a commit before looking whether there will be none."""

Lease = Callable[[], AbstractContextManager[None]]
log = logging.getLogger(__name__)


def install(spark: SparkSession) -> None:
    """Load the Java into an engine."""
    java_source.load(spark, CLASS, SOURCE)


@contextmanager
def leased_swaps(spark: SparkSession, place: str, lease: Lease) -> Iterator[None]:
    """Inside, a commit of Java to a place holds the lease while it changes the table, and not before."""
    gate = Jvm.of(spark)(CLASS).open(place)
    keeper = _GateKeeper(gate, lease)
    keeper.start()
    try:
        yield
    except Exception:
        if keeper.problem is not None:  # the commit has failed because there was no lease
            raise keeper.problem from None
        raise
    finally:
        keeper.ended.set()
        gate.close()
        keeper.join()


class _GateKeeper(Thread):
    """Holds the lease while a commit is inside of the gate."""

    def __init__(self, gate: Any, lease: Lease) -> None:
        super().__init__(name="swap-gate", daemon=True)
        self.ended = Event()
        """Set when no commit will come any more."""
        self.problem: Exception | None = None
        """Why the lease could not be had."""
        self._gate, self._lease = gate, lease

    def run(self) -> None:
        try:
            while not self.ended.is_set():
                if self._gate.isAsked(LOOK_MILLIS):
                    self._let_through()
        except Exception as error:
            log.warning("no lease for a swap", exc_info=True)
            self.problem = error
            self._gate.refuse(str(error))

    def _let_through(self) -> None:
        with self._lease():
            faults.point("before-swap")
            self._gate.grant()
            while not self._gate.isLeft(LOOK_MILLIS) and not self.ended.is_set():
                pass
            faults.point("swap-applied")

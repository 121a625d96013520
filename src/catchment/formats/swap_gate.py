"""Holds the table's lease only during the swap of a compaction that the format's own code commits.

A compaction rewrites files for minutes and then changes the table in a moment. The format's code does both in one
call. Inside that call, its commit waits at a gate (`SwapGate.java`); one of our threads takes the lease, lets the
commit through, and releases the lease.
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
"""How long to wait for a commit before checking whether the compaction has ended."""

Lease = Callable[[], AbstractContextManager[None]]
log = logging.getLogger(__name__)


def install(spark: SparkSession) -> None:
    """Load the Java class into an engine."""
    java_source.load(spark, CLASS, SOURCE)


@contextmanager
def leased_swaps(spark: SparkSession, place: str, lease: Lease) -> Iterator[None]:
    """Within this context, a Java commit to `place` holds the lease while it changes the table, and not before."""
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
    """Holds the lease while a commit is inside the gate."""

    def __init__(self, gate: Any, lease: Lease) -> None:
        super().__init__(name="swap-gate", daemon=True)
        self.ended = Event()
        """Set when no further commit will come."""
        self.problem: Exception | None = None
        """Why the lease could not be taken."""
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

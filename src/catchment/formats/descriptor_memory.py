"""Keeps descriptors that an engine cannot hold away from its JVM.

A JVM whose heap is full does not always say so: its other threads fail too, and the engine ends as if it hung. The next
engine would then try the same writes again, and the table would be blocked. So what cannot fit is not tried.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from catchment.jvm.classes import Jvm
from catchment.store.descriptors import lines_of
from catchment.store.writes import Entry

BYTES_PER_CHARACTER = 4
"""What Java needs at least for each character of descriptors: their JSON, and the files that are made of it."""
FITS_ANYWHERE = 4_000_000
"""So many characters fit into every engine that starts at all; Java is not asked."""


def size_of(writes: Sequence[Entry]) -> int:
    """How long the descriptors of these writes are, in characters."""
    texts = (lines_of(write.contents.descriptors) for write in writes if write.contents)
    return sum(len(line) for lines in texts for line in lines)


def check_memory(session: SparkSession, writes: Sequence[Entry]) -> None:
    """Raise a MemoryError if the heap of the engine is too small for the descriptors of these writes."""
    size = size_of(writes)
    if size <= FITS_ANYWHERE:
        return
    heap = int(Jvm.of(session)("java.lang.Runtime").getRuntime().maxMemory())
    if size * BYTES_PER_CHARACTER > heap:
        raise MemoryError(
            f"they are {size >> 20} MB of text, for which Java needs {size * BYTES_PER_CHARACTER >> 20} MB of memory, "
            f"and this engine has {heap >> 20} MB; try again with a larger spark.driver.memory"
        )

"""The heap of a JVM as its garbage collectors have measured it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pyspark.sql import SparkSession

from catchment.jvm.classes import Jvm, java_array, java_class, listed

BEANS = "java.lang.management.ManagementFactory"
COLLECTOR = "com.sun.management.GarbageCollectorMXBean"


@dataclass(frozen=True)
class HeapUse:
    """What a heap holds; all sizes are in bytes."""

    used: int
    """Includes garbage that has not been collected yet."""
    live: int
    """What was left after the last collection."""
    most: int
    """What the heap can grow to."""
    age: float
    """Seconds since the last collection."""


class Heap:
    """Measures the heap of an engine."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._jvm = Jvm.of(spark)
        self._methods: dict[tuple[str, str], Any] = {}

    def measure(self) -> HeapUse:
        """What the heap holds now, and what it held after the last collection."""
        runtime = self._jvm("java.lang.Runtime").getRuntime()
        used, most = runtime.totalMemory() - runtime.freeMemory(), runtime.maxMemory()
        last = max(self._last_collections(), key=lambda info: info.getEndTime(), default=None)
        uptime = self._call("java.lang.management.RuntimeMXBean", "getUptime", self._runtime)
        if last is None:
            return HeapUse(used, used, most, uptime / 1000)
        return HeapUse(used, min(self._left_by(last), used), most, (uptime - last.getEndTime()) / 1000)

    def collect(self) -> None:
        """Collect all garbage now, which stops every thread of the JVM for a moment."""
        self._jvm("java.lang.System").gc()

    @cached_property
    def _nothing(self) -> Any:
        """The arguments of a method that takes none."""
        return java_array(self._spark, "java.lang.Object")

    @cached_property
    def _runtime(self) -> Any:
        return self._jvm(BEANS).getRuntimeMXBean()

    @cached_property
    def _collectors(self) -> list[Any]:
        return listed(self._jvm(BEANS).getGarbageCollectorMXBeans())

    @cached_property
    def _pools(self) -> list[str]:
        """The memory pools of the heap; collectors also report memory outside it."""
        bean = "java.lang.management.MemoryPoolMXBean"
        pools = listed(self._jvm(BEANS).getMemoryPoolMXBeans())
        return [self._call(bean, "getName", pool) for pool in pools if self._is_heap(pool)]

    def _is_heap(self, pool: Any) -> bool:
        kind = self._call("java.lang.management.MemoryPoolMXBean", "getType", pool)
        return str(kind.name()) == "HEAP"

    def _last_collections(self) -> list[Any]:
        infos = (self._call(COLLECTOR, "getLastGcInfo", collector) for collector in self._collectors)
        return [info for info in infos if info is not None]

    def _left_by(self, collection: Any) -> int:
        after = collection.getMemoryUsageAfterGc()
        return sum(after.get(pool).getUsed() for pool in self._pools)

    def _call(self, interface: str, method: str, bean: Any) -> Any:
        # Called through the interface: py4j would call the bean's own class, which its module does not export.
        if (interface, method) not in self._methods:
            none = java_array(self._spark, "java.lang.Class")
            self._methods[interface, method] = java_class(self._spark, interface).getMethod(method, none)
        return self._methods[interface, method].invoke(bean, self._nothing)

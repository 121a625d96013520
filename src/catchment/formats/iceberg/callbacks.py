"""Methods of Java's objects as the callbacks that Java asks for: they are called there, in the thread that calls."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from catchment.commit.jvm import Jvm


def callback(spark: SparkSession, interface: str, target: Any, method: str, kind: str, *arguments: Any) -> Any:
    """`target.method`, which takes one value of a kind, as an interface of one method.

    With an argument the callback takes none; without, it takes the value itself.
    """
    jvm = Jvm.of(spark)
    handles = jvm("java.lang.invoke.MethodHandles")
    found = target.getClass().getMethod(method, _array(spark, "java.lang.Class", java_class(spark, kind)))
    bound = handles.insertArguments(
        handles.publicLookup().unreflect(found), 0, _array(spark, "java.lang.Object", target, *arguments)
    )
    return jvm("java.lang.invoke.MethodHandleProxies").asInterfaceInstance(java_class(spark, interface), bound)


def java_class(spark: SparkSession, name: str) -> Any:
    """A class as an object."""
    return Jvm.of(spark)("java.lang.Class").forName(name)


def _array(spark: SparkSession, kind: str, *items: Any) -> Any:
    gateway: Any = spark.sparkContext._gateway
    array = gateway.new_array(Jvm.of(spark)(kind), len(items))
    for index, item in enumerate(items):
        array[index] = item
    return array

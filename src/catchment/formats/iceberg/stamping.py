"""Statements whose commits say where they come from. SQL has no word for that; Iceberg takes it from the caller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from catchment.commit.jvm import Jvm


def run_stamped(spark: SparkSession, sql: str, stamps: Mapping[str, str]) -> None:
    """Run a statement; every snapshot that it makes carries the stamps, and nothing else in this session does."""
    jvm = Jvm.of(spark)
    properties = jvm("java.util.HashMap")()
    for key, value in stamps.items():
        properties.put(key, value)
    call = _callable(spark, jvm, sql)
    jvm.iceberg("spark.CommitMetadata").withCommitProperties(properties, call, _class(jvm, "java.lang.Exception"))


def _callable(spark: SparkSession, jvm: Jvm, sql: str) -> Any:
    """`session.sql(sql)` as an object of Java's, so that it is called in the thread that holds the stamps."""
    session, text = spark._jsparkSession, _class(jvm, "java.lang.String")
    handles = jvm("java.lang.invoke.MethodHandles")
    method = session.getClass().getMethod("sql", _array(spark, "java.lang.Class", text))
    bound = handles.insertArguments(
        handles.publicLookup().unreflect(method), 0, _array(spark, "java.lang.Object", session, sql)
    )
    proxies, kind = jvm("java.lang.invoke.MethodHandleProxies"), _class(jvm, "java.util.concurrent.Callable")
    return proxies.asInterfaceInstance(kind, bound)


def _class(jvm: Jvm, name: str) -> Any:
    return jvm("java.lang.Class").forName(name)


def _array(spark: SparkSession, kind: str, *items: Any) -> Any:
    gateway: Any = spark.sparkContext._gateway
    array = gateway.new_array(Jvm.of(spark)(kind), len(items))
    for index, item in enumerate(items):
        array[index] = item
    return array

"""Access to Java classes by their full names, and Java methods as callbacks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

from py4j.java_gateway import JavaClass, JavaMember
from py4j.protocol import STATIC_PREFIX
from pyspark.sql import SparkSession

Own = TypeVar("Own", bound="Jvm")


@dataclass(frozen=True)
class Jvm:
    """The JVM of an engine."""

    client: Any

    @classmethod
    def of(cls: type[Own], session: SparkSession) -> Own:
        """The JVM behind a session."""
        gateway: Any = session.sparkContext._gateway
        return cls(gateway._gateway_client)

    def __call__(self, name: str) -> Any:
        """A class by its full name."""
        return JavaClass(name, self.client)

    def static(self, name: str, method: str) -> Any:
        """A static method of a class that also has an instance method of the same name."""
        # Looked up on the class, py4j would find either of them, in the order in which the JVM lists them.
        return JavaMember(method, None, f"{STATIC_PREFIX}{name}", self.client)


def callback(spark: SparkSession, interface: str, target: Any, method: str, kind: str, *arguments: Any) -> Any:
    """`target.method`, which takes one value of type `kind`, as an instance of a functional interface.

    If an argument is given, the callback takes none; otherwise the callback takes the value.
    """
    handle = method_handle(spark, target.getClass().getName(), method, kind)
    return bound(spark, interface, handle, 0, target, *arguments)


def method_handle(spark: SparkSession, owner: str, name: str, *kinds: str) -> Any:
    """A handle of a public method that takes values of these types; unless it is static, it takes the object first."""
    types = java_array(spark, "java.lang.Class", *(java_class(spark, kind) for kind in kinds))
    found = java_class(spark, owner).getMethod(name, types)
    return Jvm.of(spark)("java.lang.invoke.MethodHandles").publicLookup().unreflect(found)


def bound(spark: SparkSession, interface: str, handle: Any, position: int, *arguments: Any) -> Any:
    """A method handle with some arguments filled in, as an instance of a functional interface."""
    jvm = Jvm.of(spark)
    filled = jvm("java.lang.invoke.MethodHandles").insertArguments(
        handle, position, java_array(spark, "java.lang.Object", *arguments)
    )
    return jvm("java.lang.invoke.MethodHandleProxies").asInterfaceInstance(java_class(spark, interface), filled)


def listed(java_list: Any) -> list[Any]:
    """The items of a Java list.

    Iterating over a Java collection ends with a JVM exception, which PySpark takes ten milliseconds to examine.
    """
    return [java_list.get(index) for index in range(java_list.size())]


def java_class(spark: SparkSession, name: str) -> Any:
    """The java.lang.Class object of a class or of a primitive type."""
    return _class_of(Jvm.of(spark), name)


@lru_cache(maxsize=256)
def _class_of(jvm: Jvm, name: str) -> Any:
    # Cached by JVM: by session, the cache would keep the sessions of jobs that have ended.
    return jvm("java.lang.Boolean").TYPE if name == "boolean" else jvm("java.lang.Class").forName(name)


def java_array(spark: SparkSession, kind: str, *items: Any) -> Any:
    """A Java array of these items."""
    gateway: Any = spark.sparkContext._gateway
    array = gateway.new_array(Jvm.of(spark)(kind), len(items))
    for index, item in enumerate(items):
        array[index] = item
    return array

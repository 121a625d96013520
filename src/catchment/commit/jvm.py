"""Java's classes, named in full: walking to them package by package would ask the JVM at every dot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from py4j.java_gateway import JavaClass, JavaMember
from py4j.protocol import STATIC_PREFIX
from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Jvm:
    """The JVM of an engine."""

    client: Any

    @classmethod
    def of(cls, session: SparkSession) -> Jvm:
        """The JVM behind a session."""
        gateway: Any = session.sparkContext._gateway
        return cls(gateway._gateway_client)

    def __call__(self, name: str) -> Any:
        """A class by its full name."""
        return JavaClass(name, self.client)

    def iceberg(self, name: str) -> Any:
        """A class of Iceberg's."""
        return self(f"org.apache.iceberg.{name}")

    def static(self, name: str, method: str) -> Any:
        """A static method of a class of Iceberg's that has another, not static one of the same name."""
        # The class itself would find either of them, as the JVM happens to list them.
        return JavaMember(method, None, f"{STATIC_PREFIX}org.apache.iceberg.{name}", self.client)

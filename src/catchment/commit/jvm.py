"""Java's classes, named in full: walking to them package by package would ask the JVM at every dot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from py4j.java_gateway import JavaClass
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

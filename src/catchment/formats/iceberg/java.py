"""Access to Iceberg's Java classes, and to our own Java for them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from catchment.jvm import classes, java_source

PACKAGE = "org.apache.iceberg"
CLASS = "catchment.iceberg.Tables"
LISTS = "catchment.iceberg.KeptLists"
SOURCES = {name: Path(__file__).with_name(f"{name.rpartition('.')[2]}.java") for name in (LISTS, CLASS)}
"""Each class comes after those that it uses."""


class Jvm(classes.Jvm):
    """The JVM of an engine, with shortcuts for Iceberg's classes."""

    def iceberg(self, name: str) -> Any:
        """An Iceberg class, by its name below org.apache.iceberg."""
        return self(f"{PACKAGE}.{name}")


@dataclass(frozen=True)
class Tables:
    """Our Java class for tables. A method call is one round trip to Java: the method is not looked up first."""

    jvm: Jvm

    def __getattr__(self, method: str) -> Any:
        return self.jvm.static(CLASS, method)


def tables(session: SparkSession) -> Tables:
    """Our Java class for tables; the first call in an engine loads it, and what it uses."""
    for name, source in SOURCES.items():
        java_source.load(session, name, source)
    return Tables(Jvm.of(session))

"""Access to Iceberg's Java classes."""

from __future__ import annotations

from typing import Any

from catchment.jvm import classes

PACKAGE = "org.apache.iceberg"


class Jvm(classes.Jvm):
    """The JVM of an engine, with shortcuts for Iceberg's classes."""

    def iceberg(self, name: str) -> Any:
        """An Iceberg class, by its name below org.apache.iceberg."""
        return self(f"{PACKAGE}.{name}")

    def iceberg_static(self, name: str, method: str) -> Any:
        """A static method of an Iceberg class."""
        return self.static(f"{PACKAGE}.{name}", method)

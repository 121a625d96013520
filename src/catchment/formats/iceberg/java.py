"""Iceberg's Java classes."""

from __future__ import annotations

from typing import Any

from catchment.jvm import classes

PACKAGE = "org.apache.iceberg"


class Jvm(classes.Jvm):
    """The JVM of an engine, with Iceberg's classes at hand."""

    def iceberg(self, name: str) -> Any:
        """A class of Iceberg's."""
        return self(f"{PACKAGE}.{name}")

    def iceberg_static(self, name: str, method: str) -> Any:
        """A static method of a class of Iceberg's."""
        return self.static(f"{PACKAGE}.{name}", method)

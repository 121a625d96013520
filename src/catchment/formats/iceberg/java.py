"""Access to Iceberg's Java classes."""

from __future__ import annotations

import json
from collections.abc import Mapping
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

    def texts(self, java_map: Any) -> Mapping[str, str]:
        """A Java map of texts, with a single call for all of its entries."""
        return dict(json.loads(self.iceberg("util.JsonUtil").mapper().writeValueAsString(java_map)))

"""What changes of a table's metadata have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

Arguments = Mapping[str, Any]
"""What a change is told."""
Metadata = Mapping[str, Any]
"""A table's metadata, as JSON of the Iceberg table spec."""


@dataclass(frozen=True)
class Staged:
    """A change, made or not: the table's metadata before and after it."""

    before: Metadata
    after: Metadata

    @property
    def changed(self) -> bool:
        """Whether there was anything to change."""
        return _lasting(self.before) != _lasting(self.after)


@dataclass(frozen=True)
class Kind:
    """One kind of change."""

    stage: Callable[[SparkSession, Any, Metadata, Arguments], None]
    """Puts the change into a transaction of Iceberg's, by the metadata that it begins from; raises what is wrong."""
    view: Callable[[Metadata, Arguments], Any]
    """What of the metadata it is about: reported before and after."""
    tell: Callable[[Staged, Arguments], Mapping[str, Any]] = lambda staged, arguments: {}
    """What else there is to report."""


def _lasting(metadata: Metadata) -> Metadata:
    return {key: value for key, value in metadata.items() if key not in ("last-updated-ms", "metadata-log")}

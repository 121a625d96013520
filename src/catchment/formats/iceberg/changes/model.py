"""The types that all metadata changes share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

Arguments = Mapping[str, Any]
"""The arguments of a change."""
Metadata = Mapping[str, Any]
"""A table's metadata, as JSON of the Iceberg table spec."""


@dataclass(frozen=True)
class Staged:
    """The table's metadata before and after a change, which may be made or only previewed."""

    before: Metadata
    after: Metadata

    @property
    def changed(self) -> bool:
        """Whether the metadata differ."""
        return _lasting(self.before) != _lasting(self.after)


@dataclass(frozen=True)
class Kind:
    """One kind of change."""

    stage: Callable[[SparkSession, Any, Metadata, Arguments], None]
    """Adds the change to an Iceberg transaction, given the metadata it starts from; raises if that is not possible."""
    view: Callable[[Metadata, Arguments], Any]
    """The part of the metadata that is reported, before and after the change."""
    report: Callable[[Staged, Arguments], Mapping[str, Any]] = lambda staged, arguments: {}
    """Further facts to report."""


def _lasting(metadata: Metadata) -> Metadata:
    return {key: value for key, value in metadata.items() if key not in ("last-updated-ms", "metadata-log")}

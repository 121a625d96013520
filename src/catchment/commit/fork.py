"""The fork of a table: its metadata on the driver's own disk, so that Spark's Iceberg writer can fill a buffer unseen.

Schemas, partition specs, sort orders and their ids stay exactly as they are: a table made anew from the schema would
number its columns anew, and its files would be read wrongly after any evolution.
"""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FORKS = "catchment_forks_"
"""Beside the catalog of every depot with tables, Spark knows one of the forks of its tables."""

HISTORY: Mapping[str, Any] = {
    "snapshots": [],
    "refs": {},
    "snapshot-log": [],
    "metadata-log": [],
    "statistics": [],
    "partition-statistics": [],
    "last-sequence-number": 0,
    "current-snapshot-id": -1,
}
"""What a fork does not take along."""

REDIRECTIONS = ("write.metadata.path", "write.object-storage.path", "write.folder-storage.path", "write.wap.enabled")
"""Table properties that would lead the fork's own metadata to the store, or its data elsewhere."""


@dataclass(frozen=True)
class Place:
    """Where forks of a depot's tables are made."""

    catalog: str
    """The Spark catalog that finds them."""
    directory: Path


@dataclass(frozen=True)
class Fork:
    """One write's private view of a table."""

    catalog: str
    name: str
    directory: Path

    @property
    def identifier(self) -> str:
        """How Spark SQL names the fork."""
        return f"`{self.catalog}`.forks.`{self.name}`"

    def remove(self) -> None:
        """Forget the fork; the data files stay where they are."""
        shutil.rmtree(self.directory, ignore_errors=True)


def make(metadata: Mapping[str, Any], place: Place, buffer: str) -> Fork:
    """Fork a table, given its metadata; data files will go to the directory `buffer`."""
    name = uuid.uuid4().hex
    directory = place.directory / "forks" / name
    (directory / "metadata").mkdir(parents=True)
    text = json.dumps(forked(metadata, location=directory.as_uri(), buffer=buffer))
    (directory / "metadata" / "v1.metadata.json").write_text(text)
    (directory / "metadata" / "version-hint.text").write_text("1")
    return Fork(place.catalog, name, directory)


def forked(metadata: Mapping[str, Any], *, location: str, buffer: str) -> dict[str, Any]:
    """The fork's metadata, by the Iceberg table spec."""
    properties = {k: v for k, v in metadata.get("properties", {}).items() if k not in REDIRECTIONS}
    fresh = {
        **metadata,
        **HISTORY,
        "table-uuid": str(uuid.uuid4()),
        "location": location,
        "properties": {**properties, "write.data.path": buffer, "write.metadata.compression-codec": "none"},
    }
    if "next-row-id" in fresh:
        fresh["next-row-id"] = 0
    return fresh

"""Versions of a table, through Iceberg's Java API."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import SparkSession

from catchment.errors import JobError
from catchment.formats.iceberg.catalogs import Table
from catchment.formats.iceberg.java import Jvm
from catchment.formats.iceberg.metadata_files import Version, moment, number_in
from catchment.formats.iceberg.traits import FILE_MISSING
from catchment.jvm.causes import is_a

LATEST = "latest"
MAX_LISTED = 10
"""The most versions that an error message lists."""


@dataclass(frozen=True)
class Versions:
    """The metadata files that a table lists, oldest first."""

    spark: SparkSession
    table: Table

    @property
    def latest(self) -> Version:
        """The current version."""
        current = self.table.operations().current()
        return Version(str(current.metadataFileLocation()), moment(current.lastUpdatedMillis()), _snapshot_id(current))

    def known(self) -> tuple[Version, ...]:
        """All versions; their files are not read."""
        earlier = self.table.operations().current().previousFiles()
        return (*(Version(str(entry.file()), moment(entry.timestampMillis())) for entry in earlier), self.latest)

    def read_metadata(self, version: Version) -> Version:
        """The same version with the facts from its file."""
        metadata = self._read(version.location)
        if metadata is None:
            return replace(version, readable=False)
        return replace(version, at=moment(metadata.lastUpdatedMillis()), snapshot_id=_snapshot_id(metadata))

    def find(self, value: str) -> Version:
        """The version named by `latest`, a file, v4, or the id of its current snapshot."""
        if value == LATEST:
            return self.latest
        known = self.known()
        found = next(self._matching(value, known), None)
        if found is None:
            raise _unknown(value, known)
        return found

    def _matching(self, value: str, known: Sequence[Version]) -> Iterator[Version]:
        newest_first = known[::-1]
        if value.isdigit():
            looked = map(self.read_metadata, newest_first)
            yield from (version for version in looked if version.readable and version.snapshot_id == int(value))
            return
        named = [version for version in newest_first if value in (version.file, version.location)]
        number = number_in(value)
        for version in named or [version for version in newest_first if number and version.number == number]:
            read_metadata = self.read_metadata(version)
            if not read_metadata.readable:
                raise _gone(read_metadata)
            yield read_metadata

    def _read(self, location: str) -> Any | None:
        try:
            file = self.table.io().newInputFile(location)
            return Jvm.of(self.spark).iceberg("TableMetadataParser").read(file)
        except Exception as error:
            if is_a(error, FILE_MISSING, "java.io.FileNotFoundException"):
                return None
            raise


def _snapshot_id(metadata: Any) -> int | None:
    current = metadata.currentSnapshot()
    return int(current.snapshotId()) if current is not None else None


def _unknown(value: str, known: Sequence[Version]) -> JobError:
    what = f"no version whose current snapshot is {value}" if value.isdigit() else f"no version {value}"
    listed = [f"v{version.number} {version.file}" if version.number else version.file for version in known]
    further = f"{len(listed) - MAX_LISTED} older ones, " if len(listed) > MAX_LISTED else ""
    return JobError(
        f"the table has {what}",
        code="version-not-found",
        hint=f"it has {further}{', '.join(listed[-MAX_LISTED:])}; `catchment table versions` lists them",
    )


def _gone(version: Version) -> JobError:
    return JobError(
        f"the metadata file {version.file} is missing",
        code="version-not-found",
        hint="it was removed; `catchment table versions` lists the readable ones",
    )

"""Versions of a table: its metadata files, of which each is the whole table at one moment."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any

from pyspark.sql import SparkSession

from catchment.errors import JobError
from catchment.formats.iceberg.catalogs import EXCEPTIONS, Table
from catchment.formats.iceberg.java import Jvm
from catchment.jvm.causes import is_a

LATEST = "latest"
MOST_LISTED = 10
"""Versions that an error message lists."""

_COUNTED = re.compile(r"(\d+)-.*")
_NUMBERED = re.compile(r"v(\d+)(\.gz)?(\.metadata)?(\.json)?(\.gz)?")
"""How versions are called by number: v4, and what files are called where their names are nothing but a number."""


@dataclass(frozen=True)
class Version:
    """One metadata file of a table."""

    location: str
    at: str | None = None
    """When it was committed: ISO-8601, UTC."""
    snapshot_id: int | None = None
    """What it shows; None where that is nothing, or where nobody looked."""
    readable: bool = True
    """False where the file is gone."""

    @property
    def file(self) -> str:
        return self.location.rpartition("/")[2]

    @property
    def number(self) -> int | None:
        """Which one it is, from 1; None where the file's name does not tell."""
        if counted := _COUNTED.fullmatch(self.file):
            return int(counted[1]) + 1
        return _number(self.file)


@dataclass(frozen=True)
class Versions:
    """The metadata files that a table knows of, oldest first."""

    spark: SparkSession
    table: Table

    @property
    def latest(self) -> Version:
        """The table as it is now."""
        current = self.table.operations().current()
        return Version(str(current.metadataFileLocation()), _time(current.lastUpdatedMillis()), _snapshot_id(current))

    def known(self) -> tuple[Version, ...]:
        """All of them, not yet looked into."""
        earlier = self.table.operations().current().previousFiles()
        return (*(Version(str(entry.file()), _time(entry.timestampMillis())) for entry in earlier), self.latest)

    def looked_into(self, version: Version) -> Version:
        """The same with what its file says."""
        metadata = self._read(version.location)
        if metadata is None:
            return replace(version, readable=False)
        return replace(version, at=_time(metadata.lastUpdatedMillis()), snapshot_id=_snapshot_id(metadata))

    def find(self, value: str) -> Version:
        """The version that is meant: `latest`, a file, v4, or the newest that shows a snapshot."""
        if value == LATEST:
            return self.latest
        known = self.known()
        found = next(self._meant(value, known), None)
        if found is None:
            raise _unknown(value, known)
        return found

    def _meant(self, value: str, known: Sequence[Version]) -> Iterator[Version]:
        newest_first = known[::-1]
        if value.isdigit():
            looked = map(self.looked_into, newest_first)
            yield from (version for version in looked if version.readable and version.snapshot_id == int(value))
            return
        named = [version for version in newest_first if value in (version.file, version.location)]
        number = _number(value)
        for version in named or [version for version in newest_first if number and version.number == number]:
            looked_into = self.looked_into(version)
            if not looked_into.readable:
                raise _gone(looked_into)
            yield looked_into

    def _read(self, location: str) -> Any | None:
        try:
            file = self.table.io().newInputFile(location)
            return Jvm.of(self.spark).iceberg("TableMetadataParser").read(file)
        except Exception as error:
            if is_a(error, f"{EXCEPTIONS}NotFoundException", "java.io.FileNotFoundException"):
                return None
            raise


def _number(text: str) -> int | None:
    numbered = _NUMBERED.fullmatch(text)
    return int(numbered[1]) if numbered else None


def _time(millis: int) -> str:
    return datetime.fromtimestamp(int(millis) / 1000, tz=timezone.utc).isoformat(timespec="milliseconds")


def _snapshot_id(metadata: Any) -> int | None:
    current = metadata.currentSnapshot()
    return int(current.snapshotId()) if current is not None else None


def _unknown(value: str, known: Sequence[Version]) -> JobError:
    what = f"no version that shows the snapshot {value}" if value.isdigit() else f"no version {value}"
    listed = [f"v{version.number} {version.file}" if version.number else version.file for version in known]
    further = f"{len(listed) - MOST_LISTED} older ones, " if len(listed) > MOST_LISTED else ""
    return JobError(
        f"the table has {what}",
        code="version-not-found",
        hint=f"it has {further}{', '.join(listed[-MOST_LISTED:])}; `catchment table versions` lists them",
    )


def _gone(version: Version) -> JobError:
    return JobError(
        f"the metadata file {version.file} is gone",
        code="version-not-found",
        hint="somebody removed it; `catchment table versions` lists what can be read",
    )

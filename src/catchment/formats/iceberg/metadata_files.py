"""The metadata files of a table, each of which describes the whole table at one moment. No Spark here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

_COUNTED = re.compile(r"(\d+)-.*")
_NUMBERED = re.compile(r"v(\d+)(\.gz)?(\.metadata)?(\.json)?(\.gz)?")
"""Names with only a version number: `v4`, and the file names of Hadoop tables."""


@dataclass(frozen=True)
class Version:
    """One metadata file of a table."""

    location: str
    at: str | None = None
    """When it was committed: ISO-8601, UTC."""
    snapshot_id: int | None = None
    """Its current snapshot; None if it has none, or if the file was not read."""
    readable: bool = True
    """False if the file is missing."""

    @property
    def file(self) -> str:
        return self.location.rpartition("/")[2]

    @property
    def number(self) -> int | None:
        """The version number, from 1; None if the file's name does not contain it."""
        if counted := _COUNTED.fullmatch(self.file):
            return int(counted[1]) + 1
        return number_in(self.file)


def with_published(known: Sequence[Version], published: str | None) -> tuple[Version, ...]:
    """The versions, preceded by the published one if the table no longer lists it."""
    listed = published is None or published in {version.location for version in known}
    return tuple(known) if listed else (Version(str(published)), *known)


def number_in(text: str) -> int | None:
    """The number in a name such as `v4`; None if the name is of another form."""
    numbered = _NUMBERED.fullmatch(text)
    return int(numbered[1]) if numbered else None


def moment(millis: int) -> str:
    """A timestamp of table metadata, as ISO-8601."""
    return datetime.fromtimestamp(int(millis) / 1000, tz=timezone.utc).isoformat(timespec="milliseconds")

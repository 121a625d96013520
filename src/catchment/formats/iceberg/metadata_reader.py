"""Answers questions about Iceberg tables without an engine, from metadata files and, through PyIceberg, manifests.

The metadata is read as JSON of the table spec, as an engine provides it, so that both give the same report.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Protocol

from catchment.formats import jdbc_catalogs
from catchment.formats.facts import Facts, listed_tables
from catchment.formats.iceberg import file_health, snapshots
from catchment.formats.iceberg.metadata_files import Version, moment, with_published
from catchment.formats.iceberg.table_facts import (
    Metadata,
    metadata_facts,
    snapshots_facts,
    table_facts,
    versions_facts,
)
from catchment.formats.iceberg.traits import MAIN
from catchment.formats.metadata_reading import Access, NeedsEngine
from catchment.formats.missing_tables import table_not_found
from catchment.formats.s3_access import of_hadoop, of_iceberg
from catchment.formats.store_files import S3_SCHEMES, LocalFiles, S3Files, StoreFiles, bucket_of, scheme_of
from catchment.plan.model import Dataset
from catchment.project.model import Depot
from catchment.run_model import snapshot_name
from catchment.table_health import TableHealth

CATALOG = "org.apache.iceberg.spark.SparkCatalog"
FILE_IOS = ("org.apache.iceberg.hadoop.HadoopFileIO", "org.apache.iceberg.aws.s3.S3FileIO")
TABLES = "iceberg_tables"
READ_AT_ONCE = 8
"""How many earlier metadata files are read at the same time."""
_NEEDED = ("location", "format-version", "schemas", "current-schema-id", "partition-specs", "default-spec-id")
"""Keys that files of very old writers lack."""


def open_reader(depot: Depot, access: Access) -> IcebergReader:
    """The reader of a depot."""
    name = f"spark.sql.catalog.{depot.name}"
    properties = access.below(f"{name}.")
    if access.settings.get(name) != CATALOG or "catalog-impl" in properties:
        raise NeedsEngine("the catalog is one of your own")
    if properties.get("io-impl", FILE_IOS[0]) not in FILE_IOS:
        raise NeedsEngine(f"the files are read by {properties['io-impl']}")
    return IcebergReader(depot, access, _catalog(depot.name, properties))


@dataclass(frozen=True)
class Found:
    """The current state of a table in its catalog."""

    location: str
    """The location of its metadata file."""
    metadata: Metadata | None = None
    """None if the catalog does not keep it."""
    properties: Mapping[str, str] | None = None
    """Properties for access to the table's files, if the catalog returns some."""


class Catalog(Protocol):
    """What the reader needs from a catalog."""

    @property
    def properties(self) -> Mapping[str, str]:
        """As in the settings of the engine."""
        ...

    def tables(self) -> Sequence[tuple[str, str]]:
        """Collection and name of every table."""
        ...

    def find(self, dataset: Dataset) -> Found | None:
        """A table; None if there is none."""
        ...

    def published(self, catalog: str, dataset: Dataset) -> str | None:
        """The location of a table's metadata file in a published catalog; None if it has none."""
        ...


@dataclass(frozen=True)
class JdbcCatalog:
    """A catalog in a SQL database; each row has the location of a metadata file."""

    name: str
    properties: Mapping[str, str]

    def tables(self) -> Sequence[tuple[str, str]]:
        """Every table; views have rows too."""
        rows = jdbc_catalogs.select(self.properties, TABLES, {"catalog_name": self.name})
        return [(row["table_namespace"], row["table_name"]) for row in rows if _is_table(row)]

    def find(self, dataset: Dataset) -> Found | None:
        """The row of a table."""
        location = self.published(self.name, dataset)
        return Found(location) if location else None

    def published(self, catalog: str, dataset: Dataset) -> str | None:
        """The location in the row of a table in any catalog of the same database."""
        names = {"table_namespace": str(dataset.namespace), "table_name": str(dataset.table)}
        rows = jdbc_catalogs.select(self.properties, TABLES, {"catalog_name": catalog, **names})
        return next((str(row["metadata_location"]) for row in rows if _is_table(row)), None)


@dataclass(frozen=True)
class IcebergReader:
    """The tables of one depot."""

    depot: Depot
    access: Access
    catalog: Catalog

    def tables(self) -> Sequence[Facts]:
        """Every table of the catalog."""
        return listed_tables(self.depot.name, self.catalog.tables())

    def inspect(self, what: str, dataset: Dataset) -> Facts:
        """Answer one question about a table."""
        found, files = self._find(dataset)
        metadata = found.metadata or _metadata(files, found.location)
        if what == "snapshots":
            return snapshots_facts(metadata)
        if what == "metadata":
            return metadata_facts(dataset.address, found.location, metadata)
        if what == "versions":
            return self._versions(dataset, found.location, metadata, files)
        if what == "files":
            from catchment.formats.iceberg import manifest_reading

            return {"files": manifest_reading.files(metadata, files)}
        return table_facts(dataset.address, metadata)

    def head(self, dataset: Dataset) -> str | None:
        """The current snapshot."""
        found, files = self._find(dataset)
        return snapshot_name(snapshots.current(found.metadata or _metadata(files, found.location)))

    def health(
        self, dataset: Dataset, small_file_bytes: int | None, compacted: Callable[[], float | None]
    ) -> TableHealth:
        """The live files by partition."""
        from catchment.formats.iceberg import manifest_reading

        found, files = self._find(dataset)
        metadata = found.metadata or _metadata(files, found.location)
        limits = file_health.size_limits(metadata, small_file_bytes)
        manifests, parts = manifest_reading.partitions(metadata, files, limits[1])
        return file_health.health_of(dataset.address, metadata, limits, parts, manifests)

    def _find(self, dataset: Dataset) -> tuple[Found, StoreFiles]:
        found = self.catalog.find(dataset)
        if found is None:
            raise table_not_found(dataset)
        properties = {**self.catalog.properties, **(found.properties or {})}
        return found, _files_at(found.location, properties, self.access)

    def _versions(self, dataset: Dataset, location: str, metadata: Metadata, files: StoreFiles) -> Facts:
        published = self.catalog.published(self.depot.publish, dataset) if self.depot.publish else None
        log = metadata.get("metadata-log", ())
        earlier = [Version(each["metadata-file"], moment(each["timestamp-ms"])) for each in log]
        known = with_published((*earlier, Version(location)), published)
        with ThreadPoolExecutor(READ_AT_ONCE) as threads:
            read = threads.map(lambda version: _read_version(files, version, location, metadata), known)
            return versions_facts(read, location, published)


def _catalog(name: str, properties: Mapping[str, str]) -> Catalog:
    kind = properties.get("type", "")
    if kind == "jdbc":
        return JdbcCatalog(name, properties)
    if kind == "rest":
        from catchment.formats.iceberg.rest_reading import RestCatalog

        return RestCatalog.connected(name, properties)
    raise NeedsEngine(f"only engines read catalogs of type {kind}")


def _is_table(row: Mapping[str, Any]) -> bool:
    return row.get("iceberg_type") in (None, "TABLE")  # catalogs of an earlier form have no such column


def _files_at(location: str, properties: Mapping[str, str], access: Access) -> StoreFiles:
    scheme = scheme_of(location)
    if scheme in ("", "file"):
        return LocalFiles()
    if scheme not in S3_SCHEMES:
        raise NeedsEngine(f"only engines read {scheme}://")
    own = properties.get("io-impl") == FILE_IOS[1] or (properties.get("type") == "rest" and scheme == "s3")
    return S3Files(of_iceberg(properties, access.environment) if own else of_hadoop(bucket_of(location), access))


def _metadata(files: StoreFiles, location: str) -> Metadata:
    try:
        return normalised(json.loads(_text(files.read(location))))
    except (FileNotFoundError, ValueError) as error:
        raise NeedsEngine(f"the metadata file {location} is missing or damaged") from error


def normalised(metadata: dict[str, Any]) -> Metadata:
    """Metadata with the defaults that Iceberg's own reader adds."""
    if any(key not in metadata for key in _NEEDED):
        raise NeedsEngine("the metadata file is of an early form")
    current = snapshots.current(metadata)
    if not metadata.get("refs") and current is not None:
        metadata["refs"] = {MAIN: {"snapshot-id": current, "type": "branch"}}
    metadata.setdefault("snapshots", [])
    return metadata


def _text(read: bytes) -> bytes:
    """The text of a metadata file, which may be compressed; raises ValueError if it is damaged."""
    try:
        return gzip.decompress(read) if read.startswith(b"\x1f\x8b") else read
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(str(error)) from error


def _read_version(files: StoreFiles, version: Version, current: str, metadata: Metadata) -> Version:
    """A version with the facts from its file; the current one has been read already."""
    try:
        read = metadata if version.location == current else json.loads(_text(files.read(version.location)))
    except FileNotFoundError:
        return replace(version, readable=False)
    except ValueError as error:
        raise NeedsEngine(f"the metadata file {version.location} is damaged") from error
    at, head = moment(read["last-updated-ms"]), snapshots.current(read)
    known = head is not None and any(each["snapshot-id"] == head for each in read.get("snapshots", ()))
    return replace(version, at=at, snapshot_id=head if known else None)

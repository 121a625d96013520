"""The live files of an Iceberg table, from its manifests as PyIceberg reads them. No Spark here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import Any

from pyiceberg.io import FileIO, InputFile, InputStream, OutputFile
from pyiceberg.manifest import DataFileContent, ManifestEntry, ManifestFile, read_manifest_list

from catchment.formats.facts import Facts
from catchment.formats.iceberg import snapshots
from catchment.formats.iceberg.file_health import PartitionFiles
from catchment.formats.iceberg.table_facts import Metadata
from catchment.formats.metadata_reading import NeedsEngine
from catchment.formats.store_files import StoreFiles

READ_AT_ONCE = 8
MOST_BYTES = 16 * 2**20
"""Manifests of more bytes than this, of some 100,000 files, are left to engines: Python is slow, and has it all in its
memory."""


def files(metadata: Metadata, store: StoreFiles) -> list[Facts]:
    """The files of the current snapshot, in the order of their paths."""
    listed = [_file(manifest, entry) for manifest, entry in _entries(_manifests(metadata, store), store)]
    return sorted(listed, key=lambda file: (file["path"], file["rows"], file["bytes"]))


def partitions(metadata: Metadata, store: StoreFiles, limit: int) -> tuple[int, list[PartitionFiles]]:
    """The number of manifests, and totals of the live files by partition; files below `limit` count as small."""
    manifests = _manifests(metadata, store)
    if (size := sum(each.manifest_length for each in manifests)) > MOST_BYTES:
        raise NeedsEngine(f"the manifests of the table have {size:,} bytes")
    specs = {each["spec-id"]: each["fields"] for each in metadata["partition-specs"]}
    found: dict[tuple[int, tuple[Any, ...]], list[ManifestEntry]] = {}
    for manifest, entry in _entries(manifests, store):
        spec = manifest.partition_spec_id
        key = spec, tuple(entry.data_file.partition[index] for index in range(len(specs[spec])))
        found.setdefault(key, []).append(entry)
    sums = [_sums(spec, specs[spec], values, entries, limit) for (spec, values), entries in found.items()]
    return len(manifests), sums


def _manifests(metadata: Metadata, store: StoreFiles) -> list[ManifestFile]:
    current = snapshots.current(metadata)
    if current is None:
        return []
    head = next(each for each in metadata["snapshots"] if each["snapshot-id"] == current)
    if "manifest-list" not in head:
        raise NeedsEngine("the snapshot is of an early form")
    return list(_read(lambda: read_manifest_list(_File(head["manifest-list"], store))))


def _entries(manifests: Sequence[ManifestFile], store: StoreFiles) -> Iterator[tuple[ManifestFile, ManifestEntry]]:
    files = _Files(store)
    with ThreadPoolExecutor(READ_AT_ONCE) as threads:
        read = threads.map(lambda manifest: _read(lambda: manifest.fetch_manifest_entry(files)), manifests)
        for manifest, entries in zip(manifests, read, strict=True):
            yield from ((manifest, entry) for entry in entries)


def _read(read: Any) -> Any:
    try:
        return list(read())
    except NeedsEngine:
        raise
    except Exception as error:  # PyIceberg's errors have nothing in common
        raise NeedsEngine(f"PyIceberg cannot read the manifests: {type(error).__name__}: {error}") from error


def _file(manifest: ManifestFile, entry: ManifestEntry) -> Facts:
    file = entry.data_file
    return {
        "path": file.file_path,
        "format": file.file_format.value,
        "rows": file.record_count,
        "bytes": file.file_size_in_bytes,
        "spec_id": manifest.partition_spec_id,
    }


def _sums(
    spec: int, fields: Sequence[Mapping[str, Any]], values: Sequence[Any], entries: Sequence[ManifestEntry], limit: int
) -> PartitionFiles:
    sizes = [each.data_file.file_size_in_bytes for each in entries if each.data_file.content == DataFileContent.DATA]
    small = [size for size in sizes if size < limit]
    return PartitionFiles(
        *(spec, {field["name"]: value for field, value in zip(fields, values, strict=True)}),
        *(len(sizes), sum(sizes), len(small), sum(small), len(entries) - len(sizes)),
        max((each.file_sequence_number for each in entries if each.file_sequence_number is not None), default=None),
    )


class _File(InputFile):
    """A file of a store, as PyIceberg opens it."""

    def __init__(self, location: str, store: StoreFiles) -> None:
        super().__init__(location)
        self._store = store

    def __len__(self) -> int:
        return len(self._store.read(self.location))

    def exists(self) -> bool:
        return True

    def open(self, seekable: bool = True) -> InputStream:  # noqa: FBT001, FBT002 - PyIceberg's signature
        return BytesIO(self._store.read(self.location))


class _Files(FileIO):
    """A read-only store, as PyIceberg sees it."""

    def __init__(self, store: StoreFiles) -> None:
        super().__init__()
        self._store = store

    def new_input(self, location: str) -> InputFile:
        return _File(location, self._store)

    def new_output(self, location: str) -> OutputFile:
        raise NotImplementedError

    def delete(self, location: str | InputFile | OutputFile) -> None:
        raise NotImplementedError

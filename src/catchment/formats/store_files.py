"""Reads small files of local disks and S3 stores, without an engine. No Spark here."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol
from urllib.parse import unquote, urlsplit

from catchment.formats.metadata_reading import NeedsEngine
from catchment.formats.s3_access import S3Access

if TYPE_CHECKING:
    from pyarrow.fs import S3FileSystem

CONNECT_SECONDS, ANSWER_SECONDS, ATTEMPTS = 5.0, 30.0, 3
"""Short, because an engine is tried next, which waits longer."""
S3_SCHEMES = ("s3a", "s3", "s3n")


class StoredFile(NamedTuple):
    """A file or directory of a store."""

    path: str
    """Relative to the directory that was listed."""
    bytes: int
    modified: float
    """In seconds since 1970; 0 for directories, which some stores do not have."""
    is_directory: bool


class StoreFiles(Protocol):
    """The files of one store."""

    def read(self, location: str) -> bytes:
        """The contents of a file; raises FileNotFoundError if it does not exist."""
        ...

    def listed(self, location: str, *, recursive: bool = False) -> list[StoredFile]:
        """The contents of a directory; empty if it does not exist."""
        ...


class LocalFiles:
    """The disks of this machine."""

    def read(self, location: str) -> bytes:
        """The contents of a file."""
        with _only_missing():
            return _local(location).read_bytes()

    def listed(self, location: str, *, recursive: bool = False) -> list[StoredFile]:
        """The contents of a directory."""
        with _only_missing():
            return list(_walked(_local(location), "", recursive=recursive))


class S3Files:
    """The files of one bucket."""

    def __init__(self, access: S3Access) -> None:
        self._files = _s3(access)

    def read(self, location: str) -> bytes:
        """The contents of a file."""
        with _only_missing(), self._files.open_input_stream(_key(location)) as stream:
            return bytes(stream.read())

    def listed(self, location: str, *, recursive: bool = False) -> list[StoredFile]:
        """The contents of a directory."""
        from pyarrow.fs import FileSelector, FileType

        base = _key(location).rstrip("/")
        with _only_missing():
            found = self._files.get_file_info(FileSelector(base, allow_not_found=True, recursive=recursive))
        return [
            StoredFile(
                each.path[len(base) + 1 :],
                each.size or 0,
                (each.mtime_ns or 0) / 1e9,
                each.type == FileType.Directory,
            )
            for each in found
        ]


def scheme_of(location: str) -> str:
    """The scheme of a location; empty for a path of this machine."""
    return urlsplit(location).scheme if "://" in location or location.startswith("file:") else ""


def bucket_of(location: str) -> str:
    """The bucket of a location on S3."""
    return urlsplit(location).netloc


def _key(location: str) -> str:
    return location.partition("://")[2]


def _local(location: str) -> Path:
    return Path(unquote(urlsplit(location).path) if location.startswith("file:") else location)


def _walked(directory: Path, prefix: str, *, recursive: bool) -> Iterator[StoredFile]:
    try:
        found = sorted(os.scandir(directory), key=lambda entry: entry.name)
    except FileNotFoundError:
        return
    for entry in found:
        try:
            known, inside = entry.stat(), entry.is_dir()
        except FileNotFoundError:  # removed since it was listed
            continue
        yield StoredFile(f"{prefix}{entry.name}", known.st_size, known.st_mtime, inside)
        if inside and recursive:
            yield from _walked(directory / entry.name, f"{prefix}{entry.name}/", recursive=True)


@contextmanager
def _only_missing() -> Iterator[None]:
    """Leave every error but a missing file to an engine, which retries for longer and explains it."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise NeedsEngine(f"the store cannot be read: {error}") from error


def _s3(access: S3Access) -> S3FileSystem:
    from pyarrow.fs import AwsStandardS3RetryStrategy, S3FileSystem

    endpoint = urlsplit(access.endpoint) if access.endpoint else None
    return S3FileSystem(
        access_key=access.key,
        secret_key=access.secret,
        session_token=access.token,
        region=access.region,
        scheme=endpoint.scheme if endpoint else "https",
        endpoint_override=endpoint.netloc if endpoint else None,
        force_virtual_addressing=bool(endpoint) and not access.path_style,
        connect_timeout=CONNECT_SECONDS,
        request_timeout=ANSWER_SECONDS,
        retry_strategy=AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS),
    )

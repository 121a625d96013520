"""Publishes files on Hadoop file systems: by renames, and on S3 by copies that the store makes itself.

Only requests pass through the driver, never data. Many requests run at the same time, because a remote store answers
each of them slowly.
"""

from __future__ import annotations

import errno
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from catchment.formats.files.stage import is_hidden
from catchment.formats.files.storage import FileStatus, LocalStorage, Missing, Move, Storage
from catchment.jvm.classes import Jvm

CONCURRENT_REQUESTS = 32
LARGEST_COPY = 4 * 1024**3
"""S3 copies at most 5 GiB with one request."""

_STATUS = re.compile(
    r"path=(\S+:/.*); isDirectory=false; length=(\d+); replication=\d+; blocksize=\d+; modification_time=(\d+);"
)
_THREADS = ThreadPoolExecutor(CONCURRENT_REQUESTS, thread_name_prefix="files")
"""Threads are reused, because each one holds a connection to the JVM."""

Given = TypeVar("Given")
Made = TypeVar("Made")


def storage_of(session: SparkSession, root: str) -> Storage:
    """The store that a dataset's directory is in."""
    path = Jvm.of(session)("org.apache.hadoop.fs.Path")(root)
    system = path.getFileSystem(session._jsc.hadoopConfiguration())
    scheme = str(system.getUri().getScheme())
    if scheme == "file":
        return LocalStorage(str(path.toUri().getPath()))
    # The S3A of Hadoop 3.4 can do more than a file system; Spark 3.5 has an older one.
    bulk_delete = scheme == "s3a" and system.hasPathCapability(path, "fs.capability.bulk.delete")
    return (S3Storage if bulk_delete else HadoopStorage)(session, system, root)


class HadoopStorage:
    """A store whose files can be renamed."""

    wave = 2 * CONCURRENT_REQUESTS

    def __init__(self, session: SparkSession, system: Any, root: str) -> None:
        self._jvm = Jvm.of(session)
        self._system = system
        self._root = root.rstrip("/")

    def sizes(self, directories: Iterable[str]) -> dict[str, int]:
        """The visible files with their lengths."""
        return {path: status.bytes for path, status in self.statuses(directories).items()}

    def statuses(self, directories: Iterable[str]) -> dict[str, FileStatus]:
        """The visible files; one recursive listing per directory."""
        found: dict[str, FileStatus] = {}
        for listed in _in_parallel(self._listed, list(directories)):
            found |= listed
        return found

    def make_directories(self, directories: Iterable[str]) -> None:
        """Make the directories, many at the same time."""
        _in_parallel(lambda directory: self._system.mkdirs(self._path(directory)), list(directories))

    def place(self, moves: Sequence[Move]) -> None:
        """Rename the files, many at the same time."""
        self.make_directories({move.target.rpartition("/")[0] for move in moves})
        _in_parallel(self._rename, moves)

    def remove(self, files: Sequence[str]) -> None:
        """Remove the files, and the directories that become empty."""
        _in_parallel(lambda file: self._system.delete(self._path(file), False), files)  # noqa: FBT003
        for directory in {file.rpartition("/")[0] for file in files} - {""}:
            with suppress(Py4JJavaError):  # not empty
                self._system.delete(self._path(directory), False)  # noqa: FBT003

    def clear(self, directory: str) -> None:
        """Remove a directory."""
        path = self._path(directory)
        if not self._system.delete(path, True) and self._system.exists(path):  # noqa: FBT003
            raise OSError(f"{path.toString()} could not be removed")

    def make(self) -> None:
        """Make the directory."""
        self._system.mkdirs(self._path(""))

    def record(self, path: str, text: str) -> None:
        """Write the file under another name first."""
        target = self._path(path)
        if self._system.exists(target):
            return
        unfinished = self._path(f"{path}.{uuid.uuid4().hex}")
        self._write(unfinished, text)
        if not self._system.rename(unfinished, target):
            self._system.delete(unfinished, False)  # noqa: FBT003
            if not self._system.exists(target):
                raise OSError(f"{self._root}: {path} could not be written")

    def read(self, path: str) -> str | None:
        """The text of the file."""
        try:
            stream = self._system.open(self._path(path))
        except Py4JJavaError as error:
            if _is_missing(error):
                return None
            raise
        try:
            return str(self._jvm("org.apache.commons.io.IOUtils").toString(stream, "UTF-8"))
        finally:
            stream.close()

    def newest(self, directory: str) -> list[str]:
        """The names by the time of their last change."""
        try:
            found = list(self._system.listStatus(self._path(directory)))
        except Py4JJavaError as error:
            if _is_missing(error):
                return []
            raise
        ages = [(int(each.getModificationTime()), str(each.getPath().getName())) for each in found]
        return [name for _, name in sorted(ages, reverse=True)]

    def _write(self, path: Any, text: str) -> None:
        stream = self._system.create(path, True)  # noqa: FBT003
        try:
            stream.write(text.encode())
        finally:
            stream.close()

    def _path(self, relative: str) -> Any:
        return self._jvm("org.apache.hadoop.fs.Path")(f"{self._root}/{relative}" if relative else self._root)

    def _listed(self, directory: str) -> dict[str, FileStatus]:
        base = self._path(directory)
        try:
            files = self._system.listFiles(base, True)  # noqa: FBT003
            drained = self._jvm("org.apache.hadoop.util.functional.RemoteIterators").toList(files)
        except Py4JJavaError as error:
            if _is_missing(error):
                return {}
            raise
        start = len(str(self._system.makeQualified(base).toString())) + 1
        prefix = f"{directory}/" if directory else ""
        below = {path[start:]: status for path, status in self._described(drained)}
        return {f"{prefix}{path}": status for path, status in below.items() if not is_hidden(path)}

    def _described(self, statuses: Any) -> Iterator[tuple[str, FileStatus]]:
        # As one text: asking for the path and length of each file would take thousands of calls to the JVM.
        text = str(self._jvm("org.apache.commons.lang3.StringUtils").join(statuses, "\n"))
        found = _STATUS.findall(text)
        if len(found) == len(statuses):
            yield from ((path, FileStatus(int(length), int(millis) / 1000)) for path, length, millis in found)
        else:  # a view of another file system (viewfs) has a different text
            for each in statuses:
                status = FileStatus(int(each.getLen()), int(each.getModificationTime()) / 1000)
                yield str(each.getPath().toString()), status

    def _rename(self, move: Move) -> None:
        source, target = self._path(move.source), self._path(move.target)
        try:
            renamed = self._system.rename(source, target)
        except Py4JJavaError as error:
            if _is_missing(error):
                raise Missing(move.source) from error
            raise
        if not renamed:
            if not self._system.exists(source):
                raise Missing(move.source)
            # If the store itself fails, it throws; it returns false if something is in the way.
            raise FileExistsError(errno.EEXIST, f"{move.source} could not be renamed", f"{self._root}/{move.target}")


class S3Storage(HadoopStorage):
    """S3: the store itself copies objects, and removes hundreds of them with one request."""

    def __init__(self, session: SparkSession, system: Any, root: str) -> None:
        super().__init__(session, system, root)
        self._client = system.getS3AInternals().getAmazonS3Client("publish")
        self._requests = system.getRequestFactory()

    def make_directories(self, directories: Iterable[str]) -> None:
        """Do nothing: a store of objects has no directories."""

    def place(self, moves: Sequence[Move]) -> None:
        """Copy the objects, many at the same time; the staged ones stay until the stage is cleared."""
        _in_parallel(self._copy, moves)

    def remove(self, files: Sequence[str]) -> None:
        """Remove the objects in pages of the size that the store is configured for."""
        bulk = self._system.createBulkDelete(self._path(""))
        try:
            size = int(bulk.pageSize())
            pages = [files[start : start + size] for start in range(0, len(files), size)]
            _in_parallel(partial(self._remove_page, bulk), pages)
        finally:
            bulk.close()

    def record(self, path: str, text: str) -> None:
        """Write the object, which appears only when it is complete."""
        if not self._system.exists(self._path(path)):
            self._write(self._path(path), text)

    def _copy(self, move: Move) -> None:
        if move.bytes > LARGEST_COPY:
            self._rename(move)  # S3A copies it in parts
            return
        source, target = self._path(move.source), self._path(move.target)
        keys = (self._system.pathToKey(source), self._system.pathToKey(target))
        try:
            # Built by S3A, so that it has the encryption and storage class that the user has configured.
            about = self._system.getObjectMetadata(source)
            self._client.copyObject(self._requests.newCopyObjectRequestBuilder(*keys, about).build())
        except Py4JJavaError as error:
            if _is_missing(error):
                raise Missing(move.source) from error
            raise

    def _remove_page(self, bulk: Any, page: Sequence[str]) -> None:
        paths = self._jvm("java.util.ArrayList")()
        for file in page:
            paths.add(self._path(file))
        failed = bulk.bulkDelete(paths)
        if failed:
            raise OSError(f"{self._root}: {len(failed)} old files could not be removed: {failed[0].getValue()}")


def _in_parallel(work: Callable[[Given], Made], items: Sequence[Given]) -> list[Made]:
    """Call a function for many items in parallel; the first error is raised when all calls have ended."""
    if len(items) == 1:
        return [work(items[0])]
    running = [_THREADS.submit(work, item) for item in items]
    for each in running:
        each.exception()
    return [each.result() for each in running]


def _is_missing(error: Py4JJavaError) -> bool:
    missing = {"java.io.FileNotFoundException", "software.amazon.awssdk.services.s3.model.NoSuchKeyException"}
    return str(error.java_exception.getClass().getName()) in missing

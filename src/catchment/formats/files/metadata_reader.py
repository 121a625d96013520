"""Reports without an engine how well plain files serve their readers, from a listing of their directory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from posixpath import normpath

from catchment.formats.facts import Facts
from catchment.formats.files.file_health import Listing, health_of, required, visible
from catchment.formats.files.stage import is_hidden
from catchment.formats.files.storage import FileStatus, LocalStorage
from catchment.formats.metadata_reading import Access, NeedsEngine
from catchment.formats.s3_access import of_hadoop
from catchment.formats.store_files import S3Files, StoreFiles, bucket_of, scheme_of
from catchment.plan.model import Dataset
from catchment.project.model import Depot
from catchment.table_health import TableHealth


def open_reader(depot: Depot, access: Access) -> FilesReader:
    """The reader of a depot."""
    return FilesReader(access)


@dataclass(frozen=True)
class FilesReader:
    """The directories of one depot."""

    access: Access

    def tables(self) -> Sequence[Facts]:
        """None: plain files are not tables."""
        return ()

    def inspect(self, what: str, dataset: Dataset) -> Facts:
        """Not supported for plain files."""
        raise NeedsEngine("files answer no questions")

    def head(self, dataset: Dataset) -> str | None:
        """Plain files have no commits."""
        return None

    def health(
        self, dataset: Dataset, small_file_bytes: int | None, compacted: Callable[[], float | None]
    ) -> TableHealth:
        """The sizes of the files by directory."""
        files = required(dataset, visible(self._listing(str(dataset.path)), dataset))
        return health_of(dataset, files, small_file_bytes, compacted())

    def _listing(self, place: str) -> Listing:
        scheme = scheme_of(place)
        if scheme == "":
            return LocalStorage(place)
        if scheme != "s3a":
            raise NeedsEngine(f"only engines read {scheme}://")
        return RemoteListing(place, S3Files(of_hadoop(bucket_of(place), self.access)))


@dataclass(frozen=True)
class RemoteListing:
    """The directory of a dataset in a store."""

    root: str
    files: StoreFiles

    def statuses(self, directories: Iterable[str]) -> dict[str, FileStatus]:
        """The visible files; only of the whole dataset."""
        found = self.files.listed(self.root, recursive=True)
        return {
            each.path: FileStatus(each.bytes, each.modified)
            for each in found
            if not each.is_directory and not is_hidden(each.path)
        }

    def newest(self, directory: str) -> list[str]:
        """The names in a directory, in no particular order."""
        scheme, _, path = self.root.partition("://")
        return [each.path for each in self.files.listed(f"{scheme}://{normpath(f'{path}/{directory}')}")]

"""How well the files of a directory serve their readers. No Spark here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol
from urllib.parse import unquote

from catchment.formats.files.stage import new_stage, stages_of
from catchment.formats.files.storage import FileStatus
from catchment.formats.missing_tables import table_not_found
from catchment.plan.model import Dataset
from catchment.spec.model import NULL_PARTITION
from catchment.table_health import PartitionHealth, TableHealth, small_limit, table_health

DEFAULT_TARGET = 128 * 1024 * 1024


class Listing(Protocol):
    """What is needed from a storage."""

    def statuses(self, directories: Iterable[str]) -> dict[str, FileStatus]:
        """The files below these directories that readers see."""
        ...

    def newest(self, directory: str) -> list[str]:
        """The names in a directory, hidden ones too; none if it does not exist."""
        ...


def visible(storage: Listing, dataset: Dataset) -> dict[str, FileStatus]:
    """The files of finished writes; those of a half-published write are left out until it is finished."""
    found = storage.statuses([""])
    # Stages are listed after files: a stage that is gone by now belongs to a write that was published completely.
    stages = storage.newest(stages_of(new_stage(str(dataset.path), "x")))
    return {path: status for path, status in found.items() if not any(f"-{stage}-" in path for stage in stages)}


def required(dataset: Dataset, found: Mapping[str, FileStatus]) -> Mapping[str, FileStatus]:
    """The files of a dataset; raises if there are none."""
    if not found:
        raise table_not_found(dataset)
    return found


def health_of(
    dataset: Dataset, files: Mapping[str, FileStatus], small_file_bytes: int | None, compacted: float | None
) -> TableHealth:
    """The sizes of the files by directory; `compacted` is the time of the last compaction in the ledger."""
    limit = small_limit(DEFAULT_TARGET, small_file_bytes)
    found: dict[str, list[FileStatus]] = {}
    for path, status in files.items():
        found.setdefault(path.rpartition("/")[0], []).append(status)
    parts = [_health(values_of(name), statuses, limit) for name, statuses in found.items()]
    return table_health(dataset.address, None, (DEFAULT_TARGET, limit), parts, last_compaction=compacted)


def values_of(directory: str) -> dict[str, str | None]:
    """The partition that a directory holds."""
    parts = (part.partition("=") for part in directory.split("/") if "=" in part)
    return {unquote(name): None if value == NULL_PARTITION else unquote(value) for name, _, value in parts}


def _health(values: Mapping[str, str | None], files: list[FileStatus], limit: int) -> PartitionHealth:
    small = [each.bytes for each in files if each.bytes < limit]
    return PartitionHealth(
        values,
        len(files),
        sum(each.bytes for each in files),
        len(small),
        sum(small),
        changed=max(each.modified for each in files),
    )

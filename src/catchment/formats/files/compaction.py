"""Compaction of plain files: small files of a directory are written to a stage as a few large ones, and swapped.

The swap goes through the journal like an overwrite: the new files appear before the old ones are removed, and after a
crash the next writer completes it. It removes exactly the files that were read, so that what others append stays. If
one of them is gone when the swap begins, others have replaced it, and the compaction is given up.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import reduce
from urllib.parse import quote

from pyspark.sql import DataFrame, SparkSession

from catchment.commit import faults
from catchment.commit.listener import Listener
from catchment.commit.writer import Writer
from catchment.errors import CommitConflict
from catchment.formats.files import filling, journal
from catchment.formats.files.file_health import DEFAULT_TARGET, values_of, visible
from catchment.formats.files.filling import Shape
from catchment.formats.files.hadoop import storage_of
from catchment.formats.files.journal import FileChanges
from catchment.formats.files.reading import exact_path
from catchment.formats.files.stage import new_stage
from catchment.formats.files.storage import FileStatus, Storage
from catchment.formats.files.writing import NO_BASE, admitted, seal_and_publish
from catchment.plan.model import Dataset, Partition
from catchment.store.writes import NO_BRANCH, Contents, Intent

MIN_INPUT_FILES = 5
"""The default number of small files that are worth a rewrite."""
BY_HAND = "by hand"
READ_ALL = {"ignoreCorruptFiles": "false", "ignoreMissingFiles": "false"}
"""Whatever the engine's settings say: files whose rows were left out would be removed with them."""
_CODECS = {"gz": "gzip", "lz4hadoop": "lz4"}
"""Spark's names of codecs, where file names spell them differently."""
_KNOWN_CODECS = frozenset({"snappy", "zstd", "gz", "zlib", "lz4", "lz4hadoop", "lzo"})


@dataclass(frozen=True)
class Limits:
    """Which files are rewritten, and how large the new ones become."""

    target: int = DEFAULT_TARGET
    small: int = DEFAULT_TARGET
    least: int = MIN_INPUT_FILES
    everything: bool = False
    """Rewrite large files too, and directories with few files."""

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> Limits:
        """The limits from the properties of a rewrite; raises ValueError if one is not a number."""
        target = int(properties.get("target-file-size-bytes", DEFAULT_TARGET))
        small = int(properties.get("min-file-size-bytes", target * 3 // 4))
        least = max(int(properties.get("min-input-files", MIN_INPUT_FILES)), 2)
        return cls(target, small, least, properties.get("rewrite-all", "false").lower() == "true")


@dataclass(frozen=True)
class Group:
    """Files of one directory that are rewritten together."""

    directory: str
    files: Mapping[str, int]
    """Paths relative to the dataset, with their lengths."""

    @property
    def bytes(self) -> int:
        return sum(self.files.values())

    def bins(self, target: int) -> Iterator[list[str]]:
        """Groups of files, each of which becomes one file."""
        packed: list[str] = []
        size = 0
        for path, length in sorted(self.files.items()):
            if packed and size + length > target:
                yield packed
                packed, size = [], 0
            packed.append(path)
            size += length
        if packed:
            yield packed

    def expected(self, target: int) -> int:
        return sum(1 for _ in self.bins(target))


def groups(files: Mapping[str, FileStatus], limits: Limits, wanted: Sequence[Partition]) -> list[Group]:
    """The directories that need a rewrite, each with the files that take part in it."""
    # Tools escape names of directories in different ways, so what counts is the values and not the spelling.
    chosen = [dict(partition.values) for partition in wanted]
    found: dict[str, dict[str, int]] = {}
    for path, status in sorted(files.items()):
        directory = journal.directory(path)
        if (not chosen or values_of(directory) in chosen) and (limits.everything or status.bytes < limits.small):
            found.setdefault(directory, {})[path] = status.bytes
    least = 1 if limits.everything else limits.least
    listed = (Group(directory, paths) for directory, paths in found.items())
    return [each for each in listed if len(each.files) >= least and each.expected(limits.target) < len(each.files)]


def columns_of(files: Mapping[str, object]) -> tuple[str, ...]:
    """The partition columns, from the names of directories."""
    return next((tuple(values_of(journal.directory(path))) for path in sorted(files)), ())


@dataclass(frozen=True)
class FilesCompactor:
    """Rewrites groups of files of one dataset, each with one swap."""

    spark: SparkSession
    dataset: Dataset
    writer: Writer
    listener: Listener
    limits: Limits

    def storage(self) -> Storage:
        """The store that the dataset is in."""
        return storage_of(self.spark, str(self.dataset.path))

    def is_there(self, group: Group) -> bool:
        """Whether all files of a group still exist."""
        return set(group.files) <= set(self.storage().sizes([group.directory]))

    def compact(self, group: Group) -> int:
        """Rewrite the files of one group; returns the number of new ones. Raises `CommitConflict` if overtaken."""
        write_id = f"compaction-{uuid.uuid4().hex[:12]}/rewrite_dataset/files"
        publisher = admitted(self.writer, self.dataset, self.listener)
        stage = new_stage(str(self.dataset.path), write_id)

        intent, fill = self._intent(write_id, stage), lambda: self._fill(group, stage)
        done = seal_and_publish(self.writer, publisher, intent, fill, self.listener)
        return done.contents.files if done.contents else 0

    def _fill(self, group: Group, stage: str) -> Contents:
        faults.point("before-data-written")
        frames = [self._read(paths).coalesce(1) for paths in group.bins(self.limits.target)]
        whole = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)
        found, rows = filling.fill(self.spark, whole, stage, self._shape(group))
        faults.point("data-written")
        prefix = f"{group.directory}/" if group.directory else ""
        placed = tuple(replace(each, path=f"{prefix}{each.path}") for each in found.additions)
        return journal.contents(FileChanges(placed, tuple(sorted(group.files))), rows)

    def _read(self, paths: Sequence[str]) -> DataFrame:
        """The rows of some files, without the columns of their directories. Files may have different columns."""
        root = str(self.dataset.path).rstrip("/")
        options = {**READ_ALL, "mergeSchema": "true", "recursiveFileLookup": "true"}
        return (
            self.spark.read.format(self.dataset.format)
            .options(**options)
            .load([exact_path(quote(f"{root}/{path}")) for path in paths])
        )

    def _shape(self, group: Group) -> Shape:
        codec = codec_of(next(iter(group.files)))
        return Shape(self.dataset.format, (), {"compression": codec} if codec else {})

    def _intent(self, write_id: str, stage: str) -> Intent:
        return Intent(
            *(write_id, BY_HAND, self.dataset.target, NO_BRANCH, "maintain", "last-wins", self.writer.owner, stage),
            base=NO_BASE,
            dataset=asdict(self.dataset),
        )


def codec_of(path: str) -> str | None:
    """The codec in the name of a file, as Spark calls it; None if the name has none."""
    parts = path.rpartition("/")[2].split(".")
    name = parts[-2] if len(parts) > 2 else ""
    return _CODECS.get(name, name) if name in _KNOWN_CODECS else None


def retry_overtaken(compactor: FilesCompactor, wanted: Sequence[Partition], most: int = 5) -> tuple[int, int, int, int]:
    """Compact every group that needs it; groups with files that others replace meanwhile are tried again.

    Returns the number of files that were rewritten, added and left, and the bytes that were rewritten.
    """
    rewritten = added = size = 0
    left: list[Group] = []
    for _ in range(most):
        left = []
        for group in groups(visible(compactor.storage(), compactor.dataset), compactor.limits, wanted):
            compactor.listener.check()
            try:
                added += compactor.compact(group)
                rewritten, size = rewritten + len(group.files), size + group.bytes
            except Exception as error:
                if not isinstance(error, CommitConflict) and compactor.is_there(group):
                    raise
                left.append(group)
        if not left or compactor.limits.everything:
            break
    return rewritten, added, sum(len(group.files) for group in left), size

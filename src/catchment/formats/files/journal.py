"""The journal of a write: the file changes that publishing it will make, as stored in the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from catchment.store.writes import Contents


@dataclass(frozen=True)
class Addition:
    """A staged file and its path in the dataset. `staged` is relative to the stage, `path` to the dataset."""

    staged: str
    path: str
    bytes: int


@dataclass(frozen=True)
class FileChanges:
    """The files to add, and the old files to remove after that."""

    additions: tuple[Addition, ...]
    removals: tuple[str, ...] = ()

    @property
    def partitions(self) -> tuple[str, ...]:
        """The directories that get files, each once; the dataset itself is the empty string."""
        return tuple(dict.fromkeys(directory(each.path) for each in self.additions))

    def by_directory(self) -> Iterator[FileChanges]:
        """The changes of each directory; directories that only lose files come last."""
        additions = _grouped((each.path, each) for each in self.additions)
        removals = _grouped((each, each) for each in self.removals)
        for name in dict.fromkeys((*additions, *removals)):
            yield FileChanges(tuple(additions.get(name, ())), tuple(removals.get(name, ())))

    @property
    def size(self) -> int:
        return len(self.additions) + len(self.removals)

    def __add__(self, other: FileChanges) -> FileChanges:
        return FileChanges((*self.additions, *other.additions), (*self.removals, *other.removals))


def waves(changes: FileChanges, size: int) -> Iterator[FileChanges]:
    """Group whole directories into waves of at least `size` changes, which are published together."""
    wave = FileChanges(())
    for each in changes.by_directory():
        wave += each
        if wave.size >= size:
            yield wave
            wave = FileChanges(())
    if wave.size:
        yield wave


def contents(changes: FileChanges, rows: int) -> Contents:
    """The contents of a filled stage for the ledger."""
    return Contents(_descriptors(changes), rows, sum(each.bytes for each in changes.additions), len(changes.additions))


def planned(known: Contents, changes: FileChanges) -> Contents:
    """The same contents with all changes that publishing will make."""
    return replace(known, descriptors=_descriptors(changes))


def changes_of(known: Contents) -> FileChanges:
    """The changes that are stored in the ledger."""
    added = (Addition(each["staged"], each["add"], each["bytes"]) for each in known.descriptors if "add" in each)
    return FileChanges(tuple(added), tuple(each["remove"] for each in known.descriptors if "remove" in each))


def directory(path: str) -> str:
    """The directory of a file; the empty string for the dataset itself."""
    return path.rpartition("/")[0]


def _descriptors(changes: FileChanges) -> tuple[Mapping[str, Any], ...]:
    added = ({"add": each.path, "staged": each.staged, "bytes": each.bytes} for each in changes.additions)
    return (*added, *({"remove": each} for each in changes.removals))


def _grouped(files: Iterable[tuple[str, Any]]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for path, file in files:
        found.setdefault(directory(path), []).append(file)
    return found

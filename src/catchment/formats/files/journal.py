"""What publishing a write will change in its dataset, as the ledger keeps it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from catchment.store.writes import Contents


@dataclass(frozen=True)
class Addition:
    """A staged file, and where it goes. Paths are relative: to the stage, and to the dataset."""

    staged: str
    path: str
    bytes: int


@dataclass(frozen=True)
class Changes:
    """The files that appear, and the old ones that go once those are there."""

    additions: tuple[Addition, ...]
    removals: tuple[str, ...] = ()

    @property
    def partitions(self) -> tuple[str, ...]:
        """The directories that get files, each once; the dataset itself is the empty one."""
        return tuple(dict.fromkeys(directory(each.path) for each in self.additions))

    def by_directory(self) -> Iterator[Changes]:
        """The changes of one directory after the other; those that only lose files come last."""
        additions = _grouped((each.path, each) for each in self.additions)
        removals = _grouped((each, each) for each in self.removals)
        for name in dict.fromkeys((*additions, *removals)):
            yield Changes(tuple(additions.get(name, ())), tuple(removals.get(name, ())))

    @property
    def size(self) -> int:
        return len(self.additions) + len(self.removals)

    def __add__(self, other: Changes) -> Changes:
        return Changes((*self.additions, *other.additions), (*self.removals, *other.removals))


def waves(changes: Changes, size: int) -> Iterator[Changes]:
    """Whole directories together, until there are `size` changes: what is published at once."""
    wave = Changes(())
    for each in changes.by_directory():
        wave += each
        if wave.size >= size:
            yield wave
            wave = Changes(())
    if wave.size:
        yield wave


def contents(changes: Changes, rows: int) -> Contents:
    """A full stage, as the ledger seals it."""
    return Contents(_descriptors(changes), rows, sum(each.bytes for each in changes.additions), len(changes.additions))


def planned(known: Contents, changes: Changes) -> Contents:
    """The same contents with everything that will change."""
    return replace(known, descriptors=_descriptors(changes))


def changes_of(known: Contents) -> Changes:
    """The changes, as they were put into the ledger."""
    added = (Addition(each["staged"], each["add"], each["bytes"]) for each in known.descriptors if "add" in each)
    return Changes(tuple(added), tuple(each["remove"] for each in known.descriptors if "remove" in each))


def directory(path: str) -> str:
    """The directory of a file, empty for the dataset itself."""
    return path.rpartition("/")[0]


def _descriptors(changes: Changes) -> tuple[Mapping[str, Any], ...]:
    added = ({"add": each.path, "staged": each.staged, "bytes": each.bytes} for each in changes.additions)
    return (*added, *({"remove": each} for each in changes.removals))


def _grouped(files: Iterable[tuple[str, Any]]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for path, file in files:
        found.setdefault(directory(path), []).append(file)
    return found

"""The storage operations that publishing files needs, and their implementation for local disks."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress
from os.path import normpath
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, Protocol

from catchment.formats.files.stage import is_hidden


class Missing(Exception):
    """A file to move does not exist: another process has moved or removed it."""


class Move(NamedTuple):
    """A file and its new path; both are relative to the dataset."""

    source: str
    target: str
    bytes: int


class FileStatus(NamedTuple):
    """A file that readers see."""

    bytes: int
    modified: float
    """In seconds since 1970."""


class Storage(Protocol):
    """The directory of one dataset. All paths are relative to it, and all operations can be repeated safely."""

    @property
    def wave(self) -> int:
        """How many changes to make at the same time."""
        ...

    def sizes(self, directories: Iterable[str]) -> dict[str, int]:
        """The files below these directories that readers see, with their lengths."""
        ...

    def statuses(self, directories: Iterable[str]) -> dict[str, FileStatus]:
        """The same files, with their lengths and when each was written."""
        ...

    def make_directories(self, directories: Iterable[str]) -> None:
        """Make the directories that files will be put into; raises if one cannot be made."""
        ...

    def place(self, moves: Sequence[Move]) -> None:
        """Make files available under their new paths; raises `Missing`. The sources may remain."""
        ...

    def remove(self, files: Sequence[str]) -> None:
        """Remove the files; those that do not exist are skipped."""
        ...

    def clear(self, directory: str) -> None:
        """Remove a directory with everything in it; raises if something is left."""
        ...

    def make(self) -> None:
        """Create the dataset's directory if it does not exist."""
        ...

    def record(self, path: str, text: str) -> None:
        """Write a small file unless it exists; readers never see only a part of it."""
        ...

    def read(self, path: str) -> str | None:
        """The text of a small file; None if it does not exist."""
        ...

    def newest(self, directory: str) -> list[str]:
        """The names in a directory, the newest first, hidden ones too; none if it does not exist."""
        ...


class LocalStorage:
    """A local disk, on which renames are atomic and cheap, so that files are changed one by one."""

    wave = 1

    def __init__(self, root: str) -> None:
        self._root = Path(root)

    def sizes(self, directories: Iterable[str]) -> dict[str, int]:
        """The visible files, with their lengths."""
        return {path: status.bytes for path, status in self.statuses(directories).items()}

    def statuses(self, directories: Iterable[str]) -> dict[str, FileStatus]:
        """The visible files."""
        found: dict[str, FileStatus] = {}
        for directory in directories:
            base = self._at(directory)
            for here, inner, names in os.walk(base):
                inner[:] = [name for name in inner if not is_hidden(name)]
                for name in (each for each in names if not is_hidden(each)):
                    path = Path(here, name)
                    with suppress(FileNotFoundError):  # removed since it was listed
                        known = path.stat()
                        relative = (PurePosixPath(directory) / path.relative_to(base)).as_posix()
                        found[relative] = FileStatus(known.st_size, known.st_mtime)
        return found

    def make_directories(self, directories: Iterable[str]) -> None:
        """Make the directories."""
        for directory in directories:
            (self._root / directory).mkdir(parents=True, exist_ok=True)

    def place(self, moves: Sequence[Move]) -> None:
        """Rename the files."""
        self.make_directories({move.target.rpartition("/")[0] for move in moves})
        for move in moves:
            try:
                self._at(move.source).rename(self._root / move.target)
            except FileNotFoundError as error:
                raise Missing(move.source) from error

    def remove(self, files: Sequence[str]) -> None:
        """Remove the files, their Hadoop checksums, and the directories that become empty."""
        for file in files:
            path = self._at(file)
            path.unlink(missing_ok=True)
            path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
        for directory in {(self._root / file).parent for file in files}:
            self._prune(directory)

    def clear(self, directory: str) -> None:
        """Remove a directory."""
        shutil.rmtree(self._at(directory), onerror=_raise_unless_missing)

    def make(self) -> None:
        """Make the directory."""
        self._root.mkdir(parents=True, exist_ok=True)

    def record(self, path: str, text: str) -> None:
        """Write the file under another name first."""
        target = self._at(path)
        if target.exists():
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
        unfinished.write_text(text, encoding="utf-8")
        unfinished.rename(target)

    def read(self, path: str) -> str | None:
        """The text of the file."""
        try:
            return self._at(path).read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            return None

    def newest(self, directory: str) -> list[str]:
        """The names by the time of their last change."""
        ages: list[tuple[int, str]] = []
        with suppress(FileNotFoundError), os.scandir(self._at(directory)) as found:
            for entry in found:
                with suppress(FileNotFoundError):  # only this one is gone
                    ages.append((entry.stat().st_mtime_ns, entry.name))
        return [name for _, name in sorted(ages, reverse=True)]

    def _at(self, relative: str) -> Path:
        """Normalised, because `dataset/../stage` cannot be resolved while the dataset does not exist."""
        return Path(normpath(self._root / relative))

    def _prune(self, directory: Path) -> None:
        with suppress(OSError):  # not empty, or already gone
            while self._root in directory.parents:
                directory.rmdir()
                directory = directory.parent


def _raise_unless_missing(_: object, __: str, problem: tuple[type[BaseException], BaseException, Any]) -> None:
    if not isinstance(problem[1], FileNotFoundError):
        raise problem[1]

"""The store under a dataset of plain files, as far as publishing needs it, and the disk of this machine as one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from os.path import normpath
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, Protocol

from catchment.formats.files.stage import is_hidden


class Missing(Exception):
    """A file that was to be moved is not there: somebody else moved it, or removed it."""


class Move(NamedTuple):
    """A file and the name it shall have; both relative to the dataset."""

    source: str
    target: str
    bytes: int


class Storage(Protocol):
    """One dataset's directory; every path is relative to it. Everything here may be done twice."""

    @property
    def wave(self) -> int:
        """How many changes are made at once."""
        ...

    def sizes(self, directories: Iterable[str]) -> dict[str, int]:
        """The files below these directories that readers would see, with their lengths."""
        ...

    def place(self, moves: Sequence[Move]) -> None:
        """Make files appear under their new names; raises `Missing`. The sources may stay where they are."""
        ...

    def remove(self, files: Sequence[str]) -> None:
        """Remove files, as far as they are there."""
        ...

    def clear(self, directory: str) -> None:
        """Remove a directory and everything in it; raises where something of it stays."""
        ...

    def make(self) -> None:
        """Make the dataset's own directory, where it is not there."""
        ...


class LocalStorage:
    """A disk: a rename is atomic and costs nothing, so files change one by one, directory after directory."""

    wave = 1

    def __init__(self, root: str) -> None:
        self._root = Path(root)

    def sizes(self, directories: Iterable[str]) -> dict[str, int]:
        """The visible files, with their lengths."""
        found: dict[str, int] = {}
        for directory in directories:
            base = self._at(directory)
            for here, inner, names in os.walk(base):
                inner[:] = [name for name in inner if not is_hidden(name)]
                for name in (each for each in names if not is_hidden(each)):
                    path = Path(here, name)
                    found[(PurePosixPath(directory) / path.relative_to(base)).as_posix()] = path.stat().st_size
        return found

    def place(self, moves: Sequence[Move]) -> None:
        """Rename the files."""
        for directory in {(self._root / move.target).parent for move in moves}:
            directory.mkdir(parents=True, exist_ok=True)
        for move in moves:
            try:
                self._at(move.source).rename(self._root / move.target)
            except FileNotFoundError as error:
                raise Missing(move.source) from error

    def remove(self, files: Sequence[str]) -> None:
        """Remove the files, with Hadoop's checksums beside them, and the directories that are empty then."""
        for file in files:
            path = self._root / file
            path.unlink(missing_ok=True)
            path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
        for directory in {(self._root / file).parent for file in files}:
            self._prune(directory)

    def clear(self, directory: str) -> None:
        """Remove a directory."""
        shutil.rmtree(self._at(directory), onerror=_unless_gone)

    def make(self) -> None:
        """Make the directory."""
        self._root.mkdir(parents=True, exist_ok=True)

    def _at(self, relative: str) -> Path:
        """Stages are beside a dataset that may not be there yet, so that no disk could follow the way through it."""
        return Path(normpath(self._root / relative))

    def _prune(self, directory: Path) -> None:
        with suppress(OSError):  # not empty, or already gone
            while directory != self._root:
                directory.rmdir()
                directory = directory.parent


def _unless_gone(_: object, __: str, problem: tuple[type[BaseException], BaseException, Any]) -> None:
    if not isinstance(problem[1], FileNotFoundError):
        raise problem[1]

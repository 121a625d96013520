"""Refuses local datasets with symbolic links that lead out of their depot."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from os.path import realpath
from pathlib import Path

from catchment.errors import JobError, Position
from catchment.plan.model import Dataset
from catchment.project.address import AddressEscapes
from catchment.project.depots import is_uri
from catchment.project.model import Depot

_PATTERN = re.compile(r"[*?\[{]")


def check_links(dataset: Dataset, depots: Sequence[Depot], where: Position) -> None:
    """Raise an error if a link in the dataset's directory leads out of its depot."""
    depot = next((each for each in depots if each.name == dataset.depot), None)
    if depot is None or dataset.path is None or is_uri(dataset.path):
        return
    base = Path(realpath(depot.files))
    for link in _links(_start(Path(dataset.path)), set()):
        if not Path(realpath(link)).is_relative_to(base):
            raise JobError(
                f"{link} is a symbolic link that leads out of depot `{depot.name}`",
                code=AddressEscapes.code,
                where=where,
                hint="put the data inside the depot, or configure a depot for its real location",
            )


def _start(path: Path) -> Path:
    """The directory below which a path, or everything that a pattern matches, is found."""
    first = next((index for index, part in enumerate(path.parts) if _PATTERN.search(part)), None)
    return path if first is None or path.exists() else Path(*path.parts[:first])


def _links(directory: Path, seen: set[str]) -> Iterator[str]:
    """The links below a directory, and below the directories that they lead to."""
    real = realpath(directory)
    if real in seen:
        return
    seen.add(real)
    for entry in _entries(real):
        if entry.is_symlink():
            yield entry.path
        if entry.is_symlink() or entry.is_dir():
            yield from _links(Path(entry.path), seen)


def _entries(directory: str) -> Sequence[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return tuple(entries)
    except OSError:  # a file, missing, or unreadable: reading it will fail and say why
        return ()

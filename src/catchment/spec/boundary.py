"""The directories from which a workflow may include files, so that it cannot expose files elsewhere."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from catchment.errors import Diagnostic, InvalidFiles, Position
from catchment.spec.document import read_file


@dataclass(frozen=True)
class Boundary:
    """Directories without symbolic links in their paths. A link counts as the file that it leads to."""

    directories: tuple[Path, ...]
    asked: set[Path] = field(default_factory=set, compare=False)
    """Every file that was requested, whether or not it exists."""

    @classmethod
    def around(cls, root: Path, more: Iterable[Path] = ()) -> Boundary:
        """The boundary of a project: its directory, and what its project file allows in addition."""
        return cls(tuple(Path(os.path.realpath(each)) for each in (root, *more)))

    def read(self, path: Path, asked_at: Position) -> str:
        """The text of a file that another file names; a file outside the boundary is not even opened."""
        self.asked.add(path)
        if not self._contains(path):
            hint = f"move it below {self.directories[0]}, or allow its directory in `include_paths` of catchment.yaml"
            message = f"{path} is outside the project, or is a link that leads out"
            raise InvalidFiles([Diagnostic("include-outside", message, asked_at, hint)])
        return read_file(path, asked_at)

    def _contains(self, path: Path) -> bool:
        try:
            real = Path(os.path.realpath(path))
        except ValueError:  # not a valid path; reading it reports why
            return True
        return any(real.is_relative_to(each) for each in self.directories)

"""Reads one YAML file of limited size into its text and a tree with positions."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from catchment.errors import Diagnostic, InvalidFiles, Position
from catchment.spec.composer import compose
from catchment.spec.findings import Findings
from catchment.spec.tree import Node, follow, plain

MAX_BYTES = 2 * 1024 * 1024


@dataclass(frozen=True)
class Document:
    """One YAML file: its text, and its content with positions."""

    file: str
    text: str
    root: Node

    @cached_property
    def value(self) -> Any:
        """The content as plain dicts, lists and scalars; keys are text as written."""
        return plain(self.root)

    def where(self, path: Sequence[str | int]) -> Position:
        """The position of the value at a path, or of the nearest value above it if there is none."""
        return follow(self.root, path).node.where

    def key_where(self, path: Sequence[str | int]) -> Position:
        """The position of the key at a path; an item of a list has no key, so its own position is used."""
        return follow(self.root, path).key_where


def read(path: Path) -> Document:
    """Read a YAML file; every problem raises `InvalidFiles`."""
    return read_text(read_file(path), str(path))


SPLIT = "split it with `file:` or `sqlFile:`"


def read_file(path: Path, asked_at: Position | None = None, *, too_large: str = SPLIT) -> str:
    """Read a text file of limited size; `asked_at` is where another file names it, `too_large` the hint on its size."""
    start = Position(str(path), 1, 1)
    try:
        with open(path, "rb", opener=_open_at_once) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise InvalidFiles([_not_a_file(path, asked_at or start)])
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise InvalidFiles([_too_large(start, too_large)])
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except (FileNotFoundError, NotADirectoryError) as error:
        missing = Diagnostic("file-not-found", f"there is no file {path}", asked_at or start, "check the path")
        raise InvalidFiles([missing]) from error
    except UnicodeDecodeError as error:
        what = f"{path} is not UTF-8 text (byte {error.start})"
        raise InvalidFiles([Diagnostic("not-utf-8", what, start, "save the file as UTF-8")]) from error
    except IsADirectoryError as error:
        raise InvalidFiles([_not_a_file(path, asked_at or start)]) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        unreadable = Diagnostic(
            "file-unreadable", f"cannot read {path}: {reason}", asked_at or start, "check the path and its permissions"
        )
        raise InvalidFiles([unreadable]) from error


def _open_at_once(path: str, flags: int) -> int:
    """Open a file without blocking; opening a FIFO would otherwise wait for a writer."""
    return os.open(path, flags | os.O_NONBLOCK)


def _not_a_file(path: Path, where: Position) -> Diagnostic:
    what = f"{path} is a directory" if path.is_dir() else f"{path} is not a regular file, but a device, pipe or socket"
    return Diagnostic("not-a-file", what, where, "name a regular file")


def read_text(text: str, file: str, findings: Findings | None = None) -> Document:
    """Read YAML text; `file` is the file name in positions.

    Problems that do not prevent reading the rest go to `findings`; without it, every problem raises.
    """
    text = text.removeprefix("\ufeff")
    if len(text) > MAX_BYTES:
        raise InvalidFiles([_too_large(Position(file, 1, 1))])
    composed = compose(text, file)
    if findings is None and composed.problems:
        raise InvalidFiles(composed.problems)
    if findings is not None:
        findings.extend(composed.problems)
        findings.settle((where, where) for where in composed.spoiled)
    return Document(file, text, composed.root)


def _too_large(where: Position, hint: str = SPLIT) -> Diagnostic:
    limit = f"{MAX_BYTES // 1024 // 1024} MiB"
    return Diagnostic("file-too-large", f"the file is larger than {limit}", where, hint)

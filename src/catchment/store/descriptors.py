"""Descriptors of data files as the ledger stores them: compressed lines of JSON, parsed only when needed."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, overload

Descriptor = Mapping[str, Any]


class Lines(Sequence[Descriptor]):
    """Descriptors, one per line. Code that only passes them on can use the lines without parsing them.

    Descriptors from the ledger are unpacked on first use. If they cannot be read, that raises a ValueError only then,
    and not already when many rows are loaded: a damaged row affects only code that needs its descriptors.
    """

    def __init__(self, lines: tuple[str, ...] = (), *, packed: str | None = None) -> None:
        self._lines, self._packed = lines, packed

    @cached_property
    def lines(self) -> tuple[str, ...]:
        return self._lines if self._packed is None else _unpacked_lines(self._packed)

    @cached_property
    def _parsed(self) -> tuple[Descriptor, ...]:
        return tuple(json.loads(line) for line in self.lines)

    @overload
    def __getitem__(self, index: int) -> Descriptor: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Descriptor, ...]: ...
    def __getitem__(self, index: int | slice) -> Descriptor | tuple[Descriptor, ...]:
        return self._parsed[index]

    def __len__(self) -> int:
        return len(self.lines)

    def __iter__(self) -> Iterator[Descriptor]:
        return iter(self._parsed)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._parsed == tuple(other)

    def __hash__(self) -> int:
        return hash(self.lines)


def lines_of(descriptors: Sequence[Descriptor]) -> tuple[str, ...]:
    """The descriptors as lines of JSON."""
    return descriptors.lines if isinstance(descriptors, Lines) else tuple(json.dumps(each) for each in descriptors)


def packed(descriptors: Sequence[Descriptor]) -> str:
    """Compress descriptors, which are repetitive: ten thousand files fit into one row of about a megabyte."""
    return base64.b64encode(zlib.compress("\n".join(lines_of(descriptors)).encode())).decode()


def unpacked(text: str) -> Lines:
    """The descriptors of a packed text."""
    return Lines(packed=text)


def _unpacked_lines(text: str) -> tuple[str, ...]:
    try:
        whole = zlib.decompress(base64.b64decode(text)).decode()
    except (ValueError, zlib.error) as error:
        raise ValueError(f"the descriptors of its files cannot be unpacked: {error}") from error
    if whole.startswith("["):  # sealed by an earlier version, as one array
        return lines_of(json.loads(whole))
    return tuple(whole.split("\n")) if whole else ()

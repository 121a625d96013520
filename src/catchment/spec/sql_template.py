"""SQL with placeholders whose values are always data, never code."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from catchment.errors import Position

_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_SPECIAL = re.compile(r"[\x00-\x1f!-*/;-@[-^`{-\x7f]")
"""Every ASCII character that is not a letter, a digit, a space or one of `+,-._:`."""


@dataclass(frozen=True)
class Placeholder:
    """A place for the value of a key: `$|key|`."""

    key: str
    quoted: bool
    """Whether it is inside a string literal."""


@dataclass(frozen=True)
class Template:
    """SQL split at its placeholders, so that a value can only become part of a literal."""

    pieces: tuple[str | Placeholder, ...]
    where: Position

    def filled(self, values: Mapping[str, str]) -> str:
        """The SQL with the values filled in as data."""
        return "".join(each if isinstance(each, str) else _literal(values[each.key], each) for each in self.pieces)


def _literal(value: str, place: Placeholder) -> str:
    if place.quoted:
        return _escaped(value)
    if _NUMBER.fullmatch(value):
        return f"({value})" if value.startswith("-") else value  # after another minus it would start a comment
    return f"'{_escaped(value)}'"


def _escaped(value: str) -> str:
    # Every character that may be special to an SQL parser or in Spark's `${...}` becomes a Unicode escape.
    return _SPECIAL.sub(lambda found: f"\\u{ord(found[0]):04x}", value)

"""The value of a variable, as plain data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Value:
    """The value of a variable."""

    text: str
    plain: str | int | float | bool | None
    """The same value as a number or a boolean, for fields that want one."""

"""The formats of the lake: one protocol, declared capabilities."""

from __future__ import annotations

from catchment.errors import RequestError
from catchment.formats.delta import Delta
from catchment.formats.files.format import FILE_FORMATS, Files
from catchment.formats.iceberg import Iceberg
from catchment.formats.model import Capabilities, Earlier, Format, History, Write, Written

__all__ = ["Capabilities", "Earlier", "Format", "History", "Write", "Written", "format_of", "history_of"]


def format_of(name: str) -> Format:
    """The format that a dataset is in."""
    if name == "iceberg":
        return Iceberg()
    if name == "delta":
        return Delta()
    if name in FILE_FORMATS:
        return Files(name)
    raise RequestError(f"there is no format {name}", code="unknown-format", hint="use iceberg, delta or a file format")


def history_of(name: str) -> History:
    """The format of a dataset that is read by its commits; a plan that asks this of plain files was refused."""
    found = format_of(name)
    if isinstance(found, Iceberg | Delta):
        return found
    raise RequestError(
        f"{name} has no history to read by", code="unsupported-by-snapshot", hint="read a window over a column instead"
    )

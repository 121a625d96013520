"""The formats of the lake: one protocol, declared capabilities."""

from __future__ import annotations

from catchment.errors import RequestError
from catchment.formats.delta import Delta
from catchment.formats.files import FILE_FORMATS, Files
from catchment.formats.iceberg import Iceberg
from catchment.formats.model import Capabilities, Earlier, Format, Write, Written

__all__ = ["Capabilities", "Earlier", "Format", "Write", "Written", "format_of"]


def format_of(name: str) -> Format:
    """The format that a dataset is in."""
    if name == "iceberg":
        return Iceberg()
    if name == "delta":
        return Delta()
    if name in FILE_FORMATS:
        return Files(name)
    raise RequestError(f"there is no format {name}", code="unknown-format", hint="use iceberg, delta or a file format")

"""Paths as the project file writes them."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from catchment.errors import RequestError
from catchment.project.depots import is_uri


def absolute(text: str, root: Path) -> str:
    """A URI as it is, anything else as an absolute path of this machine; `file:` is a path too."""
    if text.startswith("file:"):
        text = unquote(urlsplit(text).path)
    elif is_uri(text):
        return text.rstrip("/")
    if not text.strip():
        raise RequestError("the path is empty", code="bad-location", hint="write `.` for the project's own directory")
    try:
        return str((root / Path(text).expanduser()).resolve())
    except (OSError, ValueError, RuntimeError) as error:
        hint = "write a path relative to the project file, or a URI"
        raise RequestError(f"`{text}` is no usable path: {error}", code="bad-location", hint=hint) from error

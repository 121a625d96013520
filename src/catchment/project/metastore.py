"""The metastore's address. It may hold a password, so no message quotes it."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

from catchment.errors import RequestError
from catchment.project.paths import absolute

_SQLITE = "sqlite:///"
_POSTGRESQL = "postgresql://"
_HINT = f"write {_SQLITE}.catchment/metastore.db or {_POSTGRESQL}user:password@host/database"


def metastore_url(url: str, root: Path) -> str:
    """The metastore's URL, of a file with its absolute path; raises `RequestError` for what is not supported."""
    if url.startswith(_POSTGRESQL):
        return _postgresql(url)
    path = url.removeprefix(_SQLITE)
    if path != url and path and "?" not in path and ":memory:" not in path:
        return _SQLITE + absolute(path, root)
    database = re.match(r"[A-Za-z][\w+.-]*(?=://)", url)
    if database and not database[0].startswith(("sqlite", "postgres")):
        raise RequestError(f"a metastore on {database[0]} is not supported", code="unsupported-metastore", hint=_HINT)
    raise RequestError("this is no address of a metastore", code="bad-metastore", hint=_HINT)


def _postgresql(url: str) -> str:
    problem = _problem(url)
    if problem:
        hint = f"{_HINT}; in user and password, write %40 for @, %2F for /, %3A for :, %23 for # and %3F for ?"
        raise RequestError(f"the metastore's address {problem}", code="bad-metastore", hint=hint)
    return url


def _problem(url: str) -> str | None:
    """Why this cannot be meant: a password with unwritten special characters must not be taken for a host."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - reading it is the check
    except ValueError:
        return "has no usable host and port"
    if re.search(r"[\s#]", url) or parts.netloc.count("@") > 1 or "@" in parts.path:
        return "cannot be told apart into user, password, host and database"
    if not re.fullmatch(r"/[^/]+", parts.path):
        return "names no database"
    return None
